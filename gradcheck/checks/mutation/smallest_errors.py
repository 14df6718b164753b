"""The smallest relative error in each tensor's gradient that a run would see, from the tolerances it really applies.

An error of relative size `e` in an element `w` is seen when `e * |w|` exceeds what is allowed there, by the tolerance
and by what roundings explain in this graph at this point. The smallest such `e` of any element is the tensor's.
"""

from __future__ import annotations

import numpy as np

from gradcheck.autograd.dtypes import largest_finite, wide
from gradcheck.checks.closeness.tolerance import Tolerance, between_engines
from gradcheck.checks.points import Point
from gradcheck.checks.result import ClaimKind
from gradcheck.language.case import StatedTolerance


def smallest_errors(point: Point, run: StatedTolerance | None) -> dict[str, float]:
    """By tensor, over all steps; a gradient of nothing but zeros, where any error is seen, has 0."""
    found: dict[str, float] = {}
    case = point.problem.case
    for step, state in enumerate(point.want.states):
        for name, gradient in state.gradients.items():
            if gradient is None or not gradient.size:
                continue
            tolerance = between_engines(gradient.dtype, case.engine_tolerance, run)
            slack = point.conditioning.slack(ClaimKind.GRADIENT, step, name)
            smallest = _smallest(gradient, tolerance, slack)
            if smallest is not None:
                found[name] = min(smallest, found.get(name, smallest))
    return found


def _smallest(gradient: np.ndarray, tolerance: Tolerance, slack: np.ndarray | None) -> float | None:
    """None where no element is finite."""
    magnitude = np.abs(wide(gradient))
    finite = np.isfinite(magnitude)
    if not finite.any():
        return None
    scale = largest_finite(magnitude)
    if scale == 0:
        return 0.0
    seen = finite & (magnitude > 0)
    fitting = slack if slack is not None and slack.shape == magnitude.shape else None
    allowed = tolerance.allowed(magnitude, scale, fitting)
    return float(np.min(allowed[seen] / magnitude[seen]))
