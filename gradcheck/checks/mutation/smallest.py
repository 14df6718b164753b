"""The smallest relative error in each tensor's gradient that a run would see, from the tolerances it really applies.

An error of relative size `e` in an element `w` is seen when `e * |w|` exceeds `rtol * |w| + atol * scale`, plus what
the rounding noise of this graph at this point allows. The smallest such `e` of any element is the tensor's.
"""

from __future__ import annotations

import numpy as np

from gradcheck.checks.closeness.compare import wide
from gradcheck.checks.closeness.tolerance import limits
from gradcheck.checks.mutation.scenes import Scene
from gradcheck.checks.options import Settings


def smallest_errors(scene: Scene, settings: Settings) -> dict[str, float]:
    """By tensor, over all steps; a gradient of nothing but zeros, where any error is seen, has 0."""
    found: dict[str, float] = {}
    case = scene.problem.case
    for step, state in enumerate(scene.want.states):
        for name, gradient in state.gradients.items():
            if gradient is None or not gradient.size:
                continue
            allowed = limits(gradient.dtype, case.engine_tolerance, settings.tolerance)
            slack = scene.noise.slack("gradient", step, name)
            smallest = _smallest(gradient, allowed.rtol, allowed.atol, slack)
            if smallest is not None:
                found[name] = min(smallest, found.get(name, smallest))
    return found


def _smallest(gradient: np.ndarray, rtol: float, atol: float, slack: np.ndarray | None) -> float | None:
    magnitude = np.abs(wide(gradient))
    finite = np.isfinite(magnitude)
    if not finite.any():
        return None
    scale = float(np.max(magnitude, where=finite, initial=0.0))
    if scale == 0:
        return 0.0
    seen = finite & (magnitude > 0)
    allowance = atol * scale + (0.0 if slack is None or slack.shape != magnitude.shape else slack)
    return float(np.min((rtol + allowance / np.where(seen, magnitude, 1.0))[seen]))
