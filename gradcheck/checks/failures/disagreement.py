"""Two differing answers, and the elements in which they differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gradcheck.autograd.dtypes import largest_finite, wide
from gradcheck.checks.closeness.agreement import Allowance, Answer, who_is_wrong
from gradcheck.checks.closeness.compare import rounding_tolerance
from gradcheck.checks.closeness.tolerance import Tolerance
from gradcheck.checks.result import Comparison
from gradcheck.facts import Fact, fact
from gradcheck.language.claim_kind import ClaimKind

#: Two numbers that differ by this part of the larger one share no digit.
_NO_DIGIT = 0.1

FORMULA, FILE = fact("the_formula"), fact("the_file")


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
