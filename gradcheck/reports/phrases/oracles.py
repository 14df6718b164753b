"""In words: what the oracles found."""

from __future__ import annotations

from gradcheck.facts import Fact
from gradcheck.reports.phrases.table import phrases


def _uninterpreted(found: Fact) -> str:
    return f"it differs where {', '.join(found['functions'])} may take any value"


phrases(
    {
        "exact_dtype": "{dtype} is no field of real numbers",
        "exact_steps": "its steps are more than backward passes",
        "exact_error": "{message}",
        "exact_uninterpreted": _uninterpreted,
        "exact_degree": "its degree is {degree:,}, too large for {points} points",
        "exact_core_gradient": "the core's own gradient of {tensor} is not proved",
        "no_complex_step": "{message}",
    }
)
