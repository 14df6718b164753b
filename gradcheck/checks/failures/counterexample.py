"""For formulas that are wrong: a counterexample from the smallest sizes and integers, to be checked with a pencil."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from gradcheck.checks.context import Context
from gradcheck.checks.result import ClaimKind, Comparison, Diagnosis
from gradcheck.facts import Fact, fact
from gradcheck.oracles.numeric.counterexample import WORK, Counterexample, counterexample
from gradcheck.oracles.numeric.work import Budget

#: The work that is spent on all formulas of a case.
ALL_WORK = 2 * WORK


def show(context: Context) -> None:
    """Give the first comparison of each wrong formula, unless its shape says it all, a diagnosis `counterexample`."""
    claims = {(name, claim.text): claim for name, listed in context.case.formulas.items() for claim in listed}
    budget = Budget(ALL_WORK)
    for place, c in enumerate(context.found):
        if c.what is not ClaimKind.FORMULA or c.status != "failed":
            continue
        claim = claims.pop((c.tensor, c.formula), None)
        if claim is None or _has_wrong_shape(c) or budget.is_spent:
            continue
        shown = counterexample(context.case, c.tensor, claim, Budget(WORK, within=budget))
        if shown is not None:
            diagnosis = Diagnosis("counterexample", as_fact(shown, c.tensor))
            context.found[place] = replace(c, diagnoses=(*c.diagnoses, diagnosis))


def _has_wrong_shape(c: Comparison) -> bool:
    why = c.mismatch
    if why is None:
        return False
    return why.kind == "shapes_differ" or (why.kind == "claim_raised" and why["error"] == "shape_mismatch")


def as_fact(shown: Counterexample, tensor: str) -> Fact:
    """A counterexample to a formula for the gradient of a tensor, as plain numbers: arrays as nested tuples by name."""
    return fact(
        "counterexample",
        tensor=tensor,
        given=_plain({**shown.inputs, **shown.constants}),
        incoming=_plain(shown.seeds),
        sizes=tuple(shown.sizes.items()),
        index=shown.index,
        claimed=shown.claimed,
        true=shown.true,
    )


def _plain(arrays: Mapping[str, np.ndarray]) -> tuple[tuple[str, Any], ...]:
    return tuple((name, _nested(array.tolist())) for name, array in arrays.items())


def _nested(value: Any) -> Any:
    return tuple(map(_nested, value)) if isinstance(value, list) else value
