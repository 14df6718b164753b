"""Which drawn points are usable, and which have nonzero gradients."""

from __future__ import annotations

import numpy as np

from gradcheck.autograd.dtypes import wide
from gradcheck.checks.points.point import Point
from gradcheck.facts import Fact, fact


def rejection_reason(point: Point) -> Fact | None:
    """Return why a point is not usable: undefined, or an unexpected error."""
    if not point.want.states:
        return fact("said", text=str(point.want.error))
    for step, state in zip(point.problem.case.steps, point.want.states, strict=False):
        kind = state.error.kind if state.error else None
        if kind != step.raises:
            return fact("said", text=str(state.error)) if state.error else fact("not_raised_here", error=step.raises)
    return None


def is_informative(point: Point) -> bool:
    """Return whether each formula's gradient has a finite, nonzero element."""
    if not point.is_complete:
        return False
    gradients = point.scope(point.last_step).gradients
    arrays = [wide(gradients[name]) for name in point.problem.case.formulas if name in gradients]
    return all(bool(np.any(np.isfinite(array) & (array != 0))) for array in arrays)
