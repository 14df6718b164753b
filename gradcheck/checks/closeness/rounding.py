"""Judge a failed comparison by what rounding explains: at this point of this graph, in this precision.

Three answers are possible. Rounding explains the difference, and it passes, with a note. It would, but only with
an allowance beyond the stated limit: then the problem is too ill-conditioned to be decided. Or it does not, and the
comparison has failed.

In less than double precision the reference is asked once more, for what it makes of the same inputs in double
precision. Whoever is about as near to that as the reference's own answer in low precision is not wrong.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from gradcheck.autograd.dtypes import wide
from gradcheck.checks.closeness.compare import compare
from gradcheck.checks.closeness.conditioning import Conditioning, Rounding
from gradcheck.checks.closeness.tolerance import Tolerance
from gradcheck.checks.result import ClaimKind, Comparison
from gradcheck.facts import Fact, fact

#: A formula is as sensitive as the gradient that it is about; so is what a file expects of a value or a gradient.
_SAME_AS = {ClaimKind.FORMULA: ClaimKind.GRADIENT}
#: Those that are compared with the reference's answer in low precision, not with what the file says.
_AGAINST_REFERENCE = frozenset((ClaimKind.VALUE, ClaimKind.GRADIENT, ClaimKind.FORMULA))
#: How many times further from double precision than the reference's worst element another may be.
_NO_WORSE = 4.0


def allow_rounding(comparisons: Iterable[Comparison], conditioning: Conditioning) -> list[Comparison]:
    """The comparisons of values and gradients at one point, those that failed by rounding alone passed, with a note."""
    return [
        allow_sensitivity(c, conditioning, conditioning.sensitivity(_measured_as(c), c.step, c.tensor))
        if c.status == "failed" and c.mask is not None
        else c
        for c in comparisons
    ]


def allow_sensitivity(failed: Comparison, conditioning: Conditioning, sensitivity: np.ndarray | None) -> Comparison:
    """One failed comparison again, of something in a graph that is so sensitive to roundings (None: unknown)."""
    truth = None
    if conditioning.rounding.is_of_low_precision and failed.what in _AGAINST_REFERENCE:
        truth = conditioning.truth(_measured_as(failed), failed.step, failed.tensor)
    return judged(failed, conditioning.rounding, sensitivity, truth, conditioning.why_not)


def _measured_as(c: Comparison) -> ClaimKind:
    """The value or the gradient whose sensitivity it has."""
    return _SAME_AS.get(c.what, c.what.subject)


def judged(
    failed: Comparison,
    rounding: Rounding,
    sensitivity: np.ndarray | None,
    truth: np.ndarray | None,
    why_not: Fact | None = None,
) -> Comparison:
    """One failed comparison again. `truth` is the reference's answer in double precision, where both were given in
    less; `why_not` says why there is no sensitivity."""
    again = allow_slack(failed, rounding.allow(sensitivity), why_not)
    if again.status == "failed" and truth is not None and rounding.is_of_low_precision:
        again = _allow_as_near(again, truth, rounding.limit)
    if again.status == "failed":
        again = _undecided(again, rounding.explain(sensitivity), rounding.allow(sensitivity))
    return again


def allow_slack(failed: Comparison, slack: np.ndarray | None, why_not: Fact | None = None) -> Comparison:
    """One failed comparison again, with an absolute allowance for each element on top."""
    if slack is None or not _fits(failed, slack):
        return failed.noted(why_not) if why_not else failed
    again = _compared(failed, slack)
    if again.status != "passed":
        return failed
    return again.noted(fact("within_rounding", beyond=failed.max_abs))


def _allow_as_near(failed: Comparison, truth: np.ndarray, limit: float) -> Comparison:
    """Passed if it is about as near to double precision as the reference."""
    got, want = failed.got_array, failed.want_array
    if got is None or want is None or not _fits(failed, truth):
        return failed
    with np.errstate(all="ignore"):
        mine, theirs = np.abs(wide(got) - truth), np.abs(wide(want) - truth)
        worst = float(np.max(theirs, initial=0.0))
        extent = (failed.atol or 0.0) + min(_NO_WORSE * worst, limit)
        allowed = Tolerance(failed.rtol or 0.0, 1.0).allowed(np.abs(truth), extent)
        if not np.all((mine <= allowed) | (wide(got) == truth)):
            return failed
    note = fact("as_near_to_double_precision", error=float(np.max(mine)), reference=failed.reference, theirs=worst)
    kept = replace(failed, status="passed", mismatched=0, got_array=None, want_array=None, mask=None)
    return kept.noted(note)


def _undecided(failed: Comparison, explained: np.ndarray | None, allowed: np.ndarray | None) -> Comparison:
    """Undecided if roundings could make as much of it, but more than may be allowed."""
    if explained is None or allowed is None or not _fits(failed, explained):
        return failed
    if np.all(explained <= allowed) or _compared(failed, explained).status != "passed":
        return failed
    worst = float(np.max(explained))
    return replace(failed, status="undecided", mismatch=fact("too_ill_conditioned", extent=worst))


def _compared(failed: Comparison, slack: np.ndarray) -> Comparison:
    """The same pair again, `slack` in place of the part of the tolerance that goes with the scale."""
    slack = slack + (failed.atol or 0.0)
    return compare(failed.got_array, failed.want_array, Tolerance(failed.rtol or 0.0, 0.0), failed.subject, slack)


def _fits(failed: Comparison, array: np.ndarray) -> bool:
    want, got = failed.want_array, failed.got_array
    return want is not None and got is not None and array.shape == want.shape
