"""Claims that the numeric oracle sides with against the reference: there the reference is wrong, and nothing else."""

from __future__ import annotations

import numpy as np

from gradcheck.autograd.dtypes import wide
from gradcheck.checks.closeness.nearly_equal import tolerance_of
from gradcheck.checks.failures.point_failures import COMPUTATION_ERRORS
from gradcheck.checks.points.point import Point
from gradcheck.checks.result import Comparison
from gradcheck.engines.double_precision import double_precision_problem
from gradcheck.oracles.numeric.audit import MAX_FULL_ELEMENTS, audit, is_refuted
from gradcheck.oracles.numeric.numeric_gradient import NumericGradient, numeric_gradient

#: An error bar shorter than this part of what two differ by tells who of them is right. A method resolves all elements
#: alike, the small ones no better than the large.
_OF_GAP = 2.0**-4
#: So many elements are asked about, and as many that are furthest off for their size, where there are too many for
#: each, and directions tell nothing: of many elements some have a kink close by.
_SPREAD = 24


def oracle_confirms(oracle: NumericGradient, c: Comparison) -> bool:
    """Whether the oracle sides with a claim in the elements in which the reference differs from it: in all of them, or
    in many that are spread over them and, as far as it can tell, in random directions."""
    claimed, other = (c.want_array, c.got_array) if c.reference == "case" else (c.got_array, c.want_array)
    if claimed is None or c.mask is None:
        return False
    room = tolerance_of(c).allowed(np.abs(wide(claimed)))
    disputed = np.flatnonzero(c.mask)
    try:
        if not 0 < disputed.size <= MAX_FULL_ELEMENTS[oracle.method]:
            status = audit(oracle, wide(claimed), room).status
            if status != "undecided" or not disputed.size:
                return status in ("passed", "not_differentiable")
            disputed = _sample(disputed, wide(claimed).ravel(), 0.0 if other is None else wide(other).ravel())
        estimate = oracle.partials(disputed.tolist())
    except COMPUTATION_ERRORS:
        return False
    mine, allowed = wide(claimed).ravel()[disputed], room.ravel()[disputed]
    gap = np.abs(mine - (0.0 if other is None else wide(other).ravel()[disputed]))
    largest = max(float(room.max()), _OF_GAP * float(gap.max())) if np.isfinite(gap).all() else np.inf
    tells = (estimate.error <= largest) | estimate.kinked
    return bool(np.all(tells & ~is_refuted(estimate, mine, allowed)))


def _sample(disputed: np.ndarray, claimed: np.ndarray, other: np.ndarray | float) -> np.ndarray:
    """Those that are furthest off, relative to themselves, and others evenly spread."""
    with np.errstate(all="ignore"):
        off = np.nan_to_num(np.abs(claimed - other) / np.abs(claimed), nan=np.inf)[disputed]
    worst = disputed[np.argsort(-off, kind="stable")[:_SPREAD]]
    return np.union1d(worst, disputed[:: -(-disputed.size // _SPREAD)])


def is_confirmed_by_oracle(point: Point, c: Comparison) -> bool:
    """Whether a claim is right, and the reference wrong, at a point: nothing that is told may depend on such a one."""
    try:
        return c.mask is not None and oracle_confirms(
            numeric_gradient(double_precision_problem(point.problem), c.tensor, c.step), c
        )
    except COMPUTATION_ERRORS:
        return False
