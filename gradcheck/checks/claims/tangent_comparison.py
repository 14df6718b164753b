"""Compare an engine's tangent with the reference's and the oracle's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from gradcheck.autograd.dtypes import wide
from gradcheck.checks.closeness.agreement import Allowance, Answer, is_found_wrong, who_is_wrong
from gradcheck.checks.closeness.compare import compare
from gradcheck.checks.closeness.tolerance import Tolerance
from gradcheck.checks.result import Comparison, Subject
from gradcheck.facts import fact
from gradcheck.oracles.numeric.finite_differences import Estimate

#: An error bar wider than this, relative to the largest element, confirms nothing.
_BLURRED = 1e-5
#: The accuracy of one-sided differences, relative to the largest element.
_KINK = 1e-5


@dataclass(frozen=True, slots=True)
class TangentComparison:
    """The tolerance of tangents, and how failures are compared again."""

    tolerance: Tolerance
    is_low: bool  # whether something is in less than double precision, unlike the oracle
    slack: Callable[[], np.ndarray | None]  # what rounding explains, computed for differences only
    recheck: Callable[[Comparison], Comparison]

    def compare(
        self, mine: np.ndarray | None, theirs: np.ndarray | None, oracle: Estimate | None, subject: Subject
    ) -> Comparison:
        """Compare an engine's tangent with another's; None means zeros."""
        mine, theirs = _zeros_if_missing(mine, theirs), _zeros_if_missing(theirs, mine)
        found = compare(mine, theirs, self.tolerance, subject)
        if found.status == "failed" and found.mask is not None:
            found = self.recheck(found)
        if oracle is None or mine is None or theirs is None or mine.shape != theirs.shape != oracle.value.shape:
            return found
        got, want = Answer(subject.engine, wide(mine).ravel()), Answer(subject.reference, wide(theirs).ravel())
        if found.status == "failed":
            return self._resolve_difference(found, got, want, oracle)
        return self._confirm_agreement(found, got, want, oracle)

    def compare_with_oracle(self, mine: np.ndarray | None, oracle: Estimate, subject: Subject) -> Comparison:
        """Compare an engine's tangent with the numeric oracle's alone."""
        mine = np.zeros(oracle.value.shape) if mine is None else mine
        subject = replace(subject, reference=oracle.method)
        right = np.where(oracle.kinked, wide(mine), oracle.value).astype(mine.dtype)
        found = compare(mine, right, self.tolerance, subject, np.where(oracle.kinked, 0.0, oracle.error))
        return self.recheck(found) if found.status == "failed" and found.mask is not None else found

    def _resolve_difference(self, failed: Comparison, got: Answer, want: Answer, oracle: Estimate) -> Comparison:
        """Decide a failure by the oracle."""
        if failed.mask is not None and _is_convention(failed.mask.ravel(), got, want, oracle):
            return replace(failed, status="not_differentiable", verdict=fact("convention_of_tangents"))
        judge = Answer(oracle.method, oracle.value.ravel(), oracle.error.ravel(), independent=True)
        if self.is_low and judge.agrees(got, self._allowance(want)):
            return failed.without_numbers("passed").with_notes(
                fact("differences_side_with", engine=got.name, reference=want.name)
            )
        verdict = who_is_wrong(got, want, [judge], self._allowance(want))
        if verdict is not None and is_found_wrong(verdict, want.name):
            return failed.without_numbers("passed", verdict=fact("reference_wrong", reference=want.name, what=verdict))
        return replace(failed, verdict=verdict)

    def _confirm_agreement(self, found: Comparison, got: Answer, want: Answer, oracle: Estimate) -> Comparison:
        """Confirm an agreement by the oracle."""
        judge = Answer(oracle.method, oracle.value.ravel(), oracle.error.ravel(), independent=True)
        allowance = self._allowance(got)
        scale = float(np.max(np.abs(got.values), initial=0.0))
        bar = float(np.max(judge.error, initial=0.0))
        if found.status != "passed" or np.any(oracle.kinked) or not bar <= _BLURRED * scale:
            return found
        if not judge.agrees(got, allowance):
            if self.is_low:
                return found
            slack = self.slack()
            if slack is not None and slack.size == got.values.size:
                allowance = Allowance(allowance.absolute + slack.ravel(), allowance.relative)
        if judge.agrees(got, allowance):
            return replace(found, certificate={"method": oracle.method, "error": bar})
        apart = fact("tangents_disagree", got=got.name, want=want.name, method=oracle.method)
        return replace(found, status="failed", mismatch=apart)

    def _allowance(self, answer: Answer) -> Allowance:
        return Allowance(np.full(answer.values.shape, self.tolerance.atol), self.tolerance.rtol)


def _zeros_if_missing(one: np.ndarray | None, other: np.ndarray | None) -> np.ndarray | None:
    return np.zeros_like(other) if one is None and other is not None else one


def _is_convention(wrong: np.ndarray, got: Answer, want: Answer, oracle: Estimate) -> bool:
    """Return whether both tangents lie between the sides of a kink."""
    if np.iscomplexobj(got.values) or np.iscomplexobj(want.values) or np.iscomplexobj(oracle.value):
        return False
    left, right = oracle.left.ravel(), oracle.right.ravel()
    low, high = np.minimum(left, right), np.maximum(left, right)
    finite = np.where(np.isfinite(low) & np.isfinite(high), np.maximum(np.abs(low), np.abs(high)), 0.0)
    room = _KINK * float(np.max(finite, initial=0.0))
    anything = np.isneginf(low) & np.isposinf(high)
    inside = [(low - room <= one.values) & (one.values <= high + room) | anything for one in (got, want)]
    return bool(np.all((inside[0] & inside[1] & oracle.kinked.ravel())[wrong]))
