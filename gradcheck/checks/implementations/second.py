"""Gradients of gradients, for code that torch goes through."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gradcheck.autograd.dtypes import wide
from gradcheck.checks.claims import second_order
from gradcheck.checks.closeness.tolerance import epsilon
from gradcheck.checks.context import Context
from gradcheck.checks.implementations.own_case import of_second_order
from gradcheck.checks.points import Points
from gradcheck.checks.result import Comparison

#: By so small a part of the largest, or so many roots of a unit in the last place, rounding may be off.
_PART, _ROOTS = 1e-7, 4.0

if TYPE_CHECKING:
    from gradcheck.engines.implementation.engine import Implementation


def of_second_order_too(context: Context, engine: Implementation) -> list[Comparison]:
    """What second order comes to at the case's own numbers; nothing where these are at a kink, or the code rounds so
    much that first gradients say little."""
    own = [c for c in context.found if c.trial is None]
    is_clear = not any(c.status == "not_differentiable" or c.has_note("own_rounding") for c in own)
    if not engine.code.is_torch or not is_clear:
        return []
    problem = context.points.own.problem
    case = of_second_order(context.case, problem)
    incoming = {name: value.array for name, value in case.inputs.items() if name not in problem.inputs}
    if incoming:
        seeds = ({"total_": None},)
        problem = replace(problem, case=case, inputs={**problem.inputs, **incoming}, seeds=seeds)
    asked = Context(case, context.options, context.engines, Points(problem, context.engines))
    if not second_order.applies(asked):
        return []
    found = [c for c in second_order.check(asked) if c.tensor in case.inputs]
    alone = context.engines.reference is engine
    found = [c for c in found if alone or c.mismatch is None or c.mismatch.kind != "differences_disagree"]
    return [c for c in found if c.status != "failed" or _is_no_rounding(c)]


def _is_no_rounding(c: Comparison) -> bool:
    """Whether it is off by more than what rounds twice may be, in code that nobody has written for it."""
    got, want = c.got_array, c.want_array
    if got is None or want is None or got.shape != want.shape:
        return True
    with np.errstate(all="ignore"):
        off, size = np.max(np.abs(wide(got) - wide(want))), np.max(np.abs(wide(want)), initial=0.0)
    return not off <= max(_PART, _ROOTS * float(np.sqrt(epsilon(want.dtype)))) * size
