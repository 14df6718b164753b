"""Compare a failed comparison again, allowing what rounding explains.

Either rounding explains the difference, and it passes with a note. Or it explains it only beyond the stated limit:
the problem is too ill-conditioned to decide. Or the comparison has failed. In less than double precision, an engine
within rounding of the reference's double-precision result passes, even if the low-precision reference is not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np

from gradcheck.autograd.dtypes import wide
from gradcheck.checks.closeness.compare import compare
from gradcheck.checks.closeness.conditioning import Conditioning
from gradcheck.checks.closeness.rough_rounding import is_beyond_rounding, sure_allowance
from gradcheck.checks.closeness.tolerance import Tolerance, base, zero_allowance
from gradcheck.checks.result import Comparison
from gradcheck.checks.scope import Scope
from gradcheck.facts import fact
from gradcheck.language.claim_kind import ClaimKind

#: Roundings beyond the limit, and this part of an element, leave nothing of it.
_ALL = 0.1
#: A formula rounds as its gradient does, and an expected value as the value.
_SAME_AS = {ClaimKind.FORMULA: ClaimKind.GRADIENT}
#: Kinds that are compared with the reference's answer, not the file's.
_AGAINST_REFERENCE = frozenset((ClaimKind.VALUE, ClaimKind.GRADIENT, ClaimKind.FORMULA))


def allow_rounding(comparisons: Iterable[Comparison], conditioning: Conditioning) -> list[Comparison]:
    """Pass comparisons at one point that failed by rounding alone."""
    return [_recheck(c, conditioning) if c.status == "failed" and c.mask is not None else c for c in comparisons]


def _recheck(failed: Comparison, conditioning: Conditioning) -> Comparison:
    if failed.what in _AGAINST_REFERENCE and failed.want_array is not None:
        again = recheck_with_allowance(failed, zero_allowance(failed.want_array, conditioning.scale), np.inf)
        if again.status == "passed":
            return again
    noise = conditioning.rough_rounding.noise(measured_as(failed), failed.step, failed.tensor)
    known = recheck_roughly(failed, noise, conditioning)
    if known is not None:
        return known
    allowance = conditioning.allowance(measured_as(failed), failed.step, failed.tensor)
    found = recheck_with_rounding(failed, allowance, conditioning)
    if found.status == "undecided" and conditioning.fast_path_difference is not None:
        return failed.with_notes(conditioning.fast_path_difference)
    return found


def recheck_roughly(failed: Comparison, noise: np.ndarray | None, conditioning: Conditioning) -> Comparison | None:
    """Decide a failure by the `noise` of rough runs; None if undecided."""
    if noise is None:
        return None
    if is_beyond_rounding(failed, noise):
        return failed
    again = recheck_with_allowance(failed, sure_allowance(noise, conditioning.limit), conditioning.limit)
    return again if again.status == "passed" else None


def recheck_with_rounding(failed: Comparison, explained: np.ndarray | None, conditioning: Conditioning) -> Comparison:
    """Compare a value or gradient again, with what rounding explains."""
    precise = None
    if failed.what in _AGAINST_REFERENCE:
        precise = conditioning.precise_answer(measured_as(failed), failed.step, failed.tensor)
    again = recheck_with_allowance(failed, explained, conditioning.limit, precise)
    if again.status == "failed" and explained is None and conditioning.why_not:
        return again.with_notes(conditioning.why_not)
    return again


def measured_as(c: Comparison) -> ClaimKind:
    """Return the kind, value or gradient, that rounds as it does."""
    return _SAME_AS.get(c.what, c.what.subject)


def recheck_with_allowance(
    failed: Comparison, explained: np.ndarray | None, limit: float, precise: np.ndarray | None = None
) -> Comparison:
    """Compare again, allowing at most `limit` of what rounding explains."""
    want, got = failed.want_array, failed.got_array
    if explained is None or want is None or got is None or explained.shape != want.shape:
        return failed
    slack = capped_allowance(explained, limit)
    again = compare(got, want, Tolerance.of(failed), failed.subject, slack)
    if again.status == "passed":
        return again.with_notes(fact("within_rounding", beyond=failed.max_abs))
    left = again.mask if again.mask is not None else np.zeros(want.shape, bool)
    nearer = _nearer_elements(failed, slack, precise)
    if nearer is not None and nearer[left].all():
        off = float(np.max(np.nan_to_num(np.abs(wide(want) - precise)[left], nan=np.inf, posinf=np.inf)))
        note = fact("reference_rounds_more", engine=failed.engine, reference=failed.reference, off=off)
        return failed.without_numbers("passed").with_notes(note)
    if not left.any() or not _may_be_rounding(failed, explained, limit)[left].all():
        return failed
    return replace(failed, status="undecided", mismatch=fact("too_ill_conditioned", extent=float(np.max(explained))))


def recheck_in_double_precision(
    failed: Comparison, conditioning: Conditioning, difference: Callable[[Scope], list[np.ndarray]]
) -> Comparison:
    """Compare a low-precision formula, which may overflow, in double."""
    gap, want = (
        conditioning.unrounded_difference(failed.step, difference),
        conditioning.gradient(failed.step, failed.tensor),
    )
    explained = conditioning.claim_allowances(failed.step, difference)
    if gap is None or want is None or not explained or explained[0] is None or gap.shape != want.shape:
        return failed
    with np.errstate(all="ignore"):
        allowed = base(gap.dtype).allowed(np.abs(want), capped_allowance(explained[0], conditioning.limit))
        if failed.mask is None or not (np.abs(gap) <= allowed)[failed.mask].all():
            return failed
    return failed.without_numbers("passed", mismatch=None).with_notes(
        fact("right_in_double_precision", dtype=failed.dtype)
    )


def _may_be_rounding(failed: Comparison, explained: np.ndarray, limit: float) -> np.ndarray:
    """Return where rounding may explain the difference, or leaves nothing.

    Roundings that leave nothing have no size: they are many times larger in another draw."""
    assert failed.got_array is not None
    assert failed.want_array is not None
    with np.errstate(all="ignore"):
        want = wide(failed.want_array)
        near = np.abs(wide(failed.got_array) - want) <= explained
        nothing_left = (explained >= _ALL * np.abs(want)) & (explained > limit)
    return np.asarray(near | np.isinf(explained) | nothing_left)


def _nearer_elements(failed: Comparison, slack: np.ndarray, precise: np.ndarray | None) -> np.ndarray | None:
    """Return where the engine is closer to `precise`, within rounding."""
    assert failed.got_array is not None
    assert failed.want_array is not None
    if precise is None or precise.shape != failed.want_array.shape:
        return None
    tolerance = Tolerance.of(failed)
    with np.errstate(all="ignore"):
        mine, theirs = np.abs(wide(failed.got_array) - precise), np.abs(wide(failed.want_array) - precise)
        near = (mine <= tolerance.allowed(np.abs(precise), slack)) & ~(theirs < mine)
        overflows = failed.got_array == precise.astype(failed.got_array.dtype)
    return np.asarray(near | overflows)


def capped_allowance(explained: np.ndarray, limit: float) -> np.ndarray:
    """Return what may be allowed of what rounding explains."""
    return np.where(np.isinf(explained), 0.0, np.minimum(explained, limit))
