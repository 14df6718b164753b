"""Claims that the numeric oracle sides with against the reference: there the reference is wrong, and nothing else."""

from __future__ import annotations

import numpy as np

from gradcheck.autograd.dtypes import wide
from gradcheck.checks.closeness.tolerance import Tolerance
from gradcheck.checks.failures.point_failures import CANNOT
from gradcheck.checks.points import Point
from gradcheck.checks.result import Comparison
from gradcheck.engines.raised import raise_precision
from gradcheck.oracles.numeric.audit import FULL, audit, refuted
from gradcheck.oracles.numeric.gradient import NumericGradient, numeric_gradient

#: An error bar shorter than this part of what two differ by tells who of them is right. A method resolves all elements
#: alike, the small ones no better than the large.
_OF_GAP = 2.0**-4


def bears_out(oracle: NumericGradient, c: Comparison) -> bool:
    """Whether the oracle sides with a claim in all elements in which the reference differs from it."""
    claimed, other = (c.want_array, c.got_array) if c.reference == "case" else (c.got_array, c.want_array)
    if claimed is None or c.mask is None:
        return False
    room = Tolerance(c.rtol or 0.0, c.atol or 0.0).allowed(np.abs(wide(claimed)))
    disputed = np.flatnonzero(c.mask)
    try:
        if not 0 < disputed.size <= FULL[oracle.method]:
            return audit(oracle, wide(claimed), room).status in ("passed", "not_differentiable")
        estimate = oracle.partials(disputed.tolist())
    except CANNOT:
        return False
    mine, allowed = wide(claimed).ravel()[disputed], room.ravel()[disputed]
    gap = np.abs(mine - (0.0 if other is None else wide(other).ravel()[disputed]))
    largest = max(float(room.max()), _OF_GAP * float(gap.max())) if np.isfinite(gap).all() else np.inf
    tells = (estimate.error <= largest) | estimate.kinked
    return bool(np.all(tells & ~refuted(estimate, mine, allowed)))


def is_borne_out(point: Point, c: Comparison) -> bool:
    """Whether a claim is right, and the reference wrong, at a point: nothing that is told may depend on such a one."""
    try:
        return c.mask is not None and bears_out(numeric_gradient(raise_precision(point.problem), c.tensor, c.step), c)
    except CANNOT:
        return False
