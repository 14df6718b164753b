"""What the oracles found, in words."""

from __future__ import annotations

from collections.abc import Callable

from gradcheck.facts import Fact


def _uninterpreted(found: Fact) -> str:
    return f"it differs where {', '.join(found['functions'])} may take any value"


ORACLES: dict[str, str | Callable[[Fact], str]] = {
    "exact_dtype": "{dtype} is no field of real numbers",
    "exact_steps": "its steps are more than backward passes",
    "exact_error": "{message}",
    "exact_uninterpreted": _uninterpreted,
    "exact_degree": "its degree is {degree:,}, too large for {points} points",
    "no_complex_step": "{message}",
    "exact_core_gradient": "the core's own gradient of {tensor} is not proved",
}
