"""For formulas that are wrong: a counterexample from the smallest sizes and integers, to be checked with a pencil."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from gradcheck.checks.result import Comparison
from gradcheck.language.case import Case
from gradcheck.oracles.numeric.counterexample import WORK, Counterexample, counterexample
from gradcheck.oracles.numeric.work import Budget

#: The work that is spent on all formulas of a case.
ALL_WORK = 2 * WORK
#: A tensor with more numbers is not written out.
_WRITTEN = 12


def with_counterexamples(case: Case, comparisons: list[Comparison]) -> list[Comparison]:
    """The comparisons; the first of each wrong formula, unless its shape says it all, with a counterexample."""
    budget = Budget(ALL_WORK)
    claims = {(name, claim.text): claim for name, listed in case.formulas.items() for claim in listed}
    found = list(comparisons)
    for place, comparison in enumerate(comparisons):
        if comparison.what != "formula" or comparison.status != "failed":
            continue
        claim = claims.pop((comparison.tensor, comparison.formula), None)
        if claim is None or comparison.message.startswith("shape") or budget.is_spent:
            continue
        shown = counterexample(case, comparison.tensor, claim, Budget(WORK, within=budget))
        if shown is not None:
            told = {"kind": "counterexample", "message": in_words(shown, comparison.tensor)}
            found[place] = replace(comparison, diagnoses=(*comparison.diagnoses, told))
    return found


def in_words(shown: Counterexample, tensor: str) -> str:
    """`counterexample: for x = [[1, 2]] the formula is 3 at [0, 1], the gradient 4`."""
    given = _listed({**shown.inputs, **shown.constants}) + _listed(shown.seeds, "incoming gradient of ")
    if not given:
        given = [f"{name} = {size}" for name, size in shown.sizes.items()]
    where = f"for {', '.join(given)} " if given else ""
    if shown.index is None:
        return f"counterexample: {where}the formula has shape {_text(shown.claimed)}, {tensor} {_text(shown.true)}"
    at = f" at [{', '.join(map(str, shown.index))}]" if shown.index else ""
    return f"counterexample: {where}the formula is {_text(shown.claimed)}{at}, the gradient {_text(shown.true)}"


def _listed(arrays: Mapping[str, np.ndarray], before: str = "") -> list[str]:
    return [
        f"{before}{name} = {_text(array.tolist())}" if array.size <= _WRITTEN else f"{before}{name} of {_shape(array)}"
        for name, array in arrays.items()
    ]


def _shape(array: np.ndarray) -> str:
    return "×".join(map(str, array.shape)) + " small integers"


def _text(value: Any) -> str:
    """Whole numbers without a point, others to six digits."""
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_text, value))}]"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
