"""In words: why a gradient could not be derived as a formula, and what a formula is no evidence for."""

from __future__ import annotations

from gradcheck.reports.phrases.table import phrases

phrases(
    {
        "forward_raises": "the forward pass raises: {error}",
        "no_pass_completed": "no backward pass is completed",
        "pass_not_run": "the backward pass alone cannot be run",
        "formula_too_long": "a formula has {parts:,} parts; give parts of the graph names of their own",
        "derived_does_not_hold": "the derived gradient of {tensor} does not hold when it is read back",
        "derived_is_refuted": "the exact oracle refutes the derived gradient of {tensor}",
        "equals_derived": "equals the derived formula; not independent evidence",
    }
)
