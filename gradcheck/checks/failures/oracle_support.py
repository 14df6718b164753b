"""Claims that the numeric oracle confirms against the reference."""

from __future__ import annotations

import numpy as np

from gradcheck.autograd.dtypes import largest_finite, wide
from gradcheck.checks.closeness.tolerance import Tolerance, epsilon
from gradcheck.checks.failures.point_failures import COMPUTATION_ERRORS
from gradcheck.checks.points.point import Point
from gradcheck.checks.result import Comparison
from gradcheck.engines.double_precision import double_precision_problem
from gradcheck.oracles.numeric.finite_differences import is_vague
from gradcheck.oracles.numeric.numeric_gradient import (
    MAX_FULL_ELEMENTS,
    NumericGradient,
    audit,
    is_refuted,
    numeric_gradient,
)

#: An error bar below this part of a gap decides. A method resolves small elements no better than large.
_OF_GAP = 2.0**-4
#: The error that factorizations leave in every element, in roundings of the largest (Higham, "Accuracy and Stability
#: of Numerical Algorithms", 2002, chapter 9). It is granted only beside a reference that is further off.
_NORMWISE = 64.0
#: The elements that are spread evenly, and those furthest off, if there are too many for each. Of many elements, some
#: are close to kinks, and directions decide nothing.
_SPREAD = 24


def oracle_confirms(oracle: NumericGradient, c: Comparison) -> bool:
    """Return whether the oracle confirms a claim in its disputed elements."""
    claimed, other = (c.want_array, c.got_array) if c.reference == "case" else (c.got_array, c.want_array)
    if claimed is None or c.mask is None:
        return False
    room = Tolerance.of(c).allowed(np.abs(wide(claimed)))
    disputed = np.flatnonzero(c.mask)
    try:
        if not 0 < disputed.size <= MAX_FULL_ELEMENTS[oracle.method]:
            status = audit(oracle, wide(claimed), room).status
            if status != "undecided" or not disputed.size:
                return status in ("passed", "not_differentiable")
            disputed = _sample(disputed, wide(claimed).ravel(), 0.0 if other is None else wide(other).ravel())
        against = np.zeros(claimed.shape) if other is None else wide(other)
        both = (wide(claimed).ravel()[disputed], against.ravel()[disputed])
        estimate = oracle.deciding_partials(disputed.tolist(), *both)
    except COMPUTATION_ERRORS:
        return False
    (mine, theirs), allowed = both, room.ravel()[disputed]
    gap = np.abs(mine - theirs)
    finite = np.isfinite(gap)
    largest = max(largest_finite(room), _OF_GAP * largest_finite(gap))
    sure = (estimate.value == mine) | ~is_vague(estimate.value, estimate.error)
    tells = np.where(finite, estimate.error <= largest, sure) | estimate.kinked
    rounding = _normwise_rounding(claimed)
    if np.any(is_refuted(estimate, theirs, allowed + rounding)):  # not only in elements that should be zero
        allowed = np.maximum(allowed, rounding)
    return bool(np.all(tells & ~is_refuted(estimate, mine, allowed)))


def normwise_slack(got: np.ndarray, want: np.ndarray) -> np.ndarray | None:
    """Return the rounding of a whole gradient, if some element is further off."""
    rounding = _normwise_rounding(got)
    is_further_off = bool(np.any(np.abs(wide(got) - wide(want)) > rounding))
    return np.full(want.shape, rounding) if is_further_off else None


def _normwise_rounding(gradient: np.ndarray) -> float:
    return _NORMWISE * epsilon(gradient.dtype) * largest_finite(gradient)


def _sample(disputed: np.ndarray, claimed: np.ndarray, other: np.ndarray | float) -> np.ndarray:
    """Return elements of the largest relative error, and evenly spread ones."""
    with np.errstate(all="ignore"):
        off = np.nan_to_num(np.abs(claimed - other) / np.abs(claimed), nan=np.inf)[disputed]
    worst = disputed[np.argsort(-off, kind="stable")[:_SPREAD]]
    return np.union1d(worst, disputed[:: -(-disputed.size // _SPREAD)])


def is_confirmed_by_oracle(point: Point, c: Comparison) -> bool:
    """Return whether a claim at a point is right against the reference."""
    try:
        return c.mask is not None and oracle_confirms(
            numeric_gradient(double_precision_problem(point.problem), c.tensor, c.step), c
        )
    except COMPUTATION_ERRORS:
        return False
