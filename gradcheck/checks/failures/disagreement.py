"""One dispute: two answers in double precision, and the elements in which they differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gradcheck.autograd.dtypes import largest_finite, wide
from gradcheck.checks.closeness.agreement import Allowance, Answer, who_is_wrong
from gradcheck.checks.closeness.nearly_equal import rounding_tolerance, tolerance_of
from gradcheck.checks.result import Comparison
from gradcheck.facts import Fact, fact
from gradcheck.language.claim_kind import ClaimKind

#: Of two that differ by so large a part of the larger one no digit is the same.
_NO_DIGIT = 0.1

FORMULA, FILE = fact("the_formula"), fact("the_file")


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Two answers in double precision, flat, and the indices at which they differ, the worst first."""

    comparison: Comparison
    got: np.ndarray
    want: np.ndarray
    indices: np.ndarray

    def answers(self) -> tuple[Answer, Answer]:
        """Those of the two who differ."""
        c = self.comparison
        ours: str | Fact = FORMULA if c.what is ClaimKind.FORMULA else c.engine
        theirs: str | Fact = FILE if c.reference == "case" else c.reference
        return Answer(ours, self.got[self.indices]), Answer(theirs, self.want[self.indices])

    def answer(self, name: str, array: np.ndarray | None) -> Iterator[Answer]:
        """Another one's, if it speaks of the same tensor; no gradient counts as zeros."""
        values = np.zeros(self.got.shape) if array is None else wide(array).ravel()
        if values.shape == self.got.shape:
            yield Answer(name, values[self.indices])

    def allowance(self, slack: np.ndarray | None = None) -> Allowance:
        """What two who agree may differ by."""
        absolute = np.full(self.indices.shape, self.comparison.atol or 0.0)
        if slack is not None and slack.size == self.want.size:
            absolute += slack.ravel()[self.indices]
        return Allowance(absolute, self.comparison.rtol or 0.0)

    def without_explained(self, slack: np.ndarray | None) -> Disagreement:
        """The same at the elements alone that rounding does not explain: of the others nobody need be asked."""
        if slack is None or slack.size != self.want.size:
            return self
        gap = np.abs(self.got - self.want).ravel()[self.indices]
        with np.errstate(all="ignore"):
            magnitude = np.abs(self.want[self.indices])
            allowed = tolerance_of(self.comparison).allowed(magnitude, slack.ravel()[self.indices])
            left = self.indices[~(gap <= allowed)]
        return replace(self, indices=left) if left.size else self

    def where(self, chosen: np.ndarray) -> Disagreement:
        """The same at these of its elements."""
        return replace(self, indices=self.indices[chosen])

    @property
    def is_rounding_only(self) -> bool:
        """Whether the two have no digit in common, and differ by no more than a few roundings of what stands in the
        tensor beside these elements: what is left of terms that cancel."""
        c, got, want = self.comparison, self.got[self.indices], self.want[self.indices]
        dtype = np.dtype(np.float64) if c.want_array is None else c.want_array.dtype
        room = rounding_tolerance(dtype, scale=largest_finite(self.want)).atol
        gap = np.abs(got - want)
        return bool(np.all((gap <= room) & (gap >= _NO_DIGIT * np.maximum(np.abs(got), np.abs(want)))))

    def passed_as_rounding(self, verdict: Fact) -> Comparison:
        """The comparison, passed: its reference is off by rounding alone, and who says so is in the `verdict`."""
        c = self.comparison
        off = float(np.max(np.abs(self.got - self.want)[self.indices]))
        kept = c.without_numbers("passed", mismatch=None)
        return kept.with_notes(fact("reference_rounds", reference=c.reference, off=off, what=verdict))

    def with_verdict(self, others: Sequence[Answer], allowance: Allowance) -> Comparison:
        """The comparison with what follows from the others' answers."""
        verdict = who_is_wrong(*self.answers(), others, allowance)
        return replace(self.comparison, verdict=verdict) if verdict else self.comparison


def disagreement_of(c: Comparison) -> Disagreement | None:
    """None where shapes differ. Where no gradient arrived it counts as zeros."""
    either = c.want_array if c.want_array is not None else c.got_array
    if either is None or c.mask is None:
        return None
    got, want = (np.zeros(either.shape) if one is None else wide(one) for one in (c.got_array, c.want_array))
    if got.shape != want.shape:
        return None
    indices = np.flatnonzero(c.mask)
    excess = np.nan_to_num(np.abs(got - want).ravel()[indices], nan=np.inf)
    return Disagreement(c, got.ravel(), want.ravel(), indices[np.argsort(-excess, kind="stable")])
