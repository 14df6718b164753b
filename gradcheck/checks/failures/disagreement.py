"""Two differing answers, and whether the numeric oracle confirms one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gradcheck.autograd.dtypes import largest_finite, wide
from gradcheck.checks.closeness.agreement import Allowance, Answer, who_is_wrong
from gradcheck.checks.closeness.compare import rounding_tolerance
from gradcheck.checks.closeness.tolerance import Tolerance, epsilon
from gradcheck.checks.failures.point_failures import COMPUTATION_ERRORS
from gradcheck.checks.points.point import Point
from gradcheck.checks.result import Comparison
from gradcheck.engines.double_precision import double_precision_problem
from gradcheck.facts import Fact, fact
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.oracles.numeric.finite_differences import is_vague
from gradcheck.oracles.numeric.numeric_gradient import (
    MAX_FULL_ELEMENTS,
    NumericGradient,
    audit,
    is_refuted,
    numeric_gradient,
)

#: Two numbers that differ by this part of the larger one share no digit.
_NO_DIGIT = 0.1

FORMULA, FILE = fact("the_formula"), fact("the_file")
#: An error bar below this part of a gap decides. A method resolves small elements no better than large.
_OF_GAP = 2.0**-4
#: The error that factorizations leave in every element, in roundings of the largest (Higham, "Accuracy and Stability
#: of Numerical Algorithms", 2002, chapter 9). It is granted only beside a reference that is further off.
_NORMWISE = 64.0
#: The elements that are spread evenly, and those furthest off, if there are too many for each. Of many elements, some
#: are close to kinks, and directions decide nothing.
_SPREAD = 24


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Two flat answers in double precision; `indices` differ, worst first."""

    comparison: Comparison
    got: np.ndarray
    want: np.ndarray
    indices: np.ndarray

    def answers(self) -> tuple[Answer, Answer]:
        c = self.comparison
        ours: str | Fact = FORMULA if c.what is ClaimKind.FORMULA else c.engine
        theirs: str | Fact = FILE if c.reference == "case" else c.reference
        return Answer(ours, self.got[self.indices]), Answer(theirs, self.want[self.indices])

    def answer(self, name: str, array: np.ndarray | None) -> Iterator[Answer]:
        """Yield another answer of the same shape; no gradient counts as zeros."""
        values = np.zeros(self.got.shape) if array is None else wide(array).ravel()
        if values.shape == self.got.shape:
            yield Answer(name, values[self.indices])

    def allowance(self, slack: np.ndarray | None = None) -> Allowance:
        """Return the difference that two right answers may have."""
        absolute = np.full(self.indices.shape, self.comparison.atol or 0.0)
        if slack is not None and slack.size == self.want.size:
            absolute += slack.ravel()[self.indices]
        return Allowance(absolute, self.comparison.rtol or 0.0)

    def without_explained(self, slack: np.ndarray | None) -> Disagreement:
        """Drop the elements that rounding explains, unless it explains all."""
        if slack is None or slack.size != self.want.size:
            return self
        gap = np.abs(self.got - self.want).ravel()[self.indices]
        with np.errstate(all="ignore"):
            magnitude = np.abs(self.want[self.indices])
            allowed = Tolerance.of(self.comparison).allowed(magnitude, slack.ravel()[self.indices])
            left = self.indices[~(gap <= allowed)]
        return replace(self, indices=left) if left.size else self

    def where(self, chosen: np.ndarray) -> Disagreement:
        return replace(self, indices=self.indices[chosen])

    @property
    def is_rounding_only(self) -> bool:
        """True if no digit is common, and the gap is roundings of the largest."""
        c, got, want = self.comparison, self.got[self.indices], self.want[self.indices]
        dtype = np.dtype(np.float64) if c.want_array is None else c.want_array.dtype
        room = rounding_tolerance(dtype, scale=largest_finite(self.want)).atol
        gap = np.abs(got - want)
        return bool(np.all((gap <= room) & (gap >= _NO_DIGIT * np.maximum(np.abs(got), np.abs(want)))))

    def passed_as_rounding(self, verdict: Fact) -> Comparison:
        """Return the comparison as passed: its reference is off by rounding."""
        c = self.comparison
        off = float(np.max(np.abs(self.got - self.want)[self.indices]))
        kept = c.without_numbers("passed", mismatch=None)
        return kept.with_notes(fact("reference_rounds", reference=c.reference, off=off, what=verdict))

    def with_verdict(self, others: Sequence[Answer], allowance: Allowance) -> Comparison:
        verdict = who_is_wrong(*self.answers(), others, allowance)
        return replace(self.comparison, verdict=verdict) if verdict else self.comparison


def disagreement_of(c: Comparison) -> Disagreement | None:
    """Return a comparison's disagreement; None for shapes that differ."""
    either = c.want_array if c.want_array is not None else c.got_array
    if either is None or c.mask is None:
        return None
    got, want = (np.zeros(either.shape) if one is None else wide(one) for one in (c.got_array, c.want_array))
    if got.shape != want.shape:
        return None
    indices = np.flatnonzero(c.mask)
    excess = np.nan_to_num(np.abs(got - want).ravel()[indices], nan=np.inf)
    return Disagreement(c, got.ravel(), want.ravel(), indices[np.argsort(-excess, kind="stable")])


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
