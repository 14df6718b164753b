"""Phrases on formulas: counterexamples, suggestions, derivations."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcheck.facts import Fact
from gradcheck.reports.number_formats import format_number
from gradcheck.reports.phrases.phrase_table import add_phrases

#: The most numbers of a tensor that are written.
_WRITTEN = 12


def _counterexample(found: Fact) -> str:
    """Return `counterexample: for x = [[1, 2]] the formula is 3 at [0, 1], …`."""
    return f"counterexample: {_example(found)}"


def _example(found: Fact) -> str:
    given = [_given(name, values) for name, values in found["given"]]
    given += [_given(f"incoming gradient of {name}", values) for name, values in found["incoming"]]
    if not given:
        given = [f"{name} = {size}" for name, size in found["sizes"]]
    where = f"for {', '.join(given)} " if given else ""
    claimed, true = _text(found["claimed"]), _text(found["true"])
    if found["index"] is None:
        return f"{where}the formula has shape {claimed}, {found['tensor']} {true}"
    at = f" at {_text(found['index'])}" if found["index"] else ""
    return f"{where}the formula is {claimed}{at}, the gradient {true}"


def _given(name: str, values: Any) -> str:
    shape = np.shape(values)
    if np.prod(shape) <= _WRITTEN:
        return f"{name} = {_text(values)}"
    numbers = np.asarray(values)
    what = "small integers" if np.all(numbers == np.round(numbers)) else "numbers"
    return f"{name} of {'×'.join(map(str, shape))} {what}"


def _text(value: Any) -> str:
    """Return integers without a point, other numbers to six digits."""
    if isinstance(value, tuple):
        return f"[{', '.join(map(_text, value))}]"
    return format_number("value", value) if isinstance(value, float) else str(value)


add_phrases(
    {
        "numbers_are_rounded": "the right numbers, rounded: tolerance: {{rtol: {rtol}}} allows for that",
        "did_you_mean": "did you mean  {formula} ?",
        "suggestion_proved": "proved for all values{sizes:one |, at {sizes} choices of sizes}{where:if , where "
        "{where:and}}",
        "suggestion_holds": "it holds at {points} point{points:s}",
        "none_found_near": "no small change mends it; the derived gradient is  {formula}",
        "derivative_derived": "no part of the derived one mends it, which is  {formula}",
        "not_searched_further": "not searched further; the derived gradient is  {formula}",
        "fails_at_ties": "it fails only where numbers tie, or at a kink{formula:if ; the derived gradient is  "
        "{formula}}",
        "these_numbers_only": "it holds at the file's own numbers; if it is meant for these alone, say "
        "generalize: false",
        "counterexample": _counterexample,
        "small_example": lambda found: f"in small numbers: {_example(found)}",
        "forward_raises": "the forward pass raises: {error}",
        "no_pass_completed": "no backward pass is completed",
        "pass_not_run": "the backward pass alone cannot be run",
        "formula_too_long": "a formula has {parts:,} parts; give parts of the graph names of their own",
        "derived_does_not_hold": "the derived gradient of {tensor} does not hold when it is read back",
        "derived_is_refuted": "the exact oracle refutes the derived gradient of {tensor}",
        "equals_derived": "equals the derived formula; not independent evidence",
    }
)
