"""Judge a failed comparison by what rounding explains: at this point of this graph, in this precision.

Three answers are possible. Rounding noise explains the difference, and it passes, with a note. It would, but only with
an allowance beyond the stated limit: then the problem is too ill-conditioned to be decided. Or it does not, and the
comparison has failed.

In less than double precision there is one more witness: what the reference itself makes of the same inputs in double
precision. Whoever is about as near to that as the reference's own answer in low precision is not wrong.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, replace

import numpy as np

from gradcheck.checks.closeness.compare import compare, wide
from gradcheck.checks.closeness.conditioning import Noise, Rounding
from gradcheck.checks.closeness.tolerance import Limits
from gradcheck.checks.result import Comparison

_ABOUT = ("what", "tensor", "step", "engine", "reference", "place", "formula", "trial")
#: Claims about known numbers are as noisy as the gradient or value that they are about.
_SAME_AS = {"expected": "gradient", "expected_value": "value", "formula": "gradient"}
#: Two who compare with the reference's answer in low precision, not with what the file says.
_AGAINST_REFERENCE = frozenset({"value", "gradient", "formula"})
#: How many times further from double precision than the reference's worst element another may be.
_NO_WORSE = 4.0

assert {*_ABOUT} <= {field.name for field in fields(Comparison)}


def widen(comparisons: Iterable[Comparison], noise: Noise) -> list[Comparison]:
    """The comparisons of values and gradients, those that failed by rounding noise alone passed, with a note."""
    return [
        with_noise(c, noise, noise.moved(_SAME_AS.get(c.what, c.what), c.step, c.tensor))
        if c.status == "failed" and c.mask is not None
        else c
        for c in comparisons
    ]


def with_noise(failed: Comparison, noise: Noise, moved: np.ndarray | None) -> Comparison:
    """One failed comparison again, of something in a graph that is as sensitive as `moved` to roundings."""
    truth = None
    if noise.rounding.is_of_low_precision and failed.what in _AGAINST_REFERENCE:
        truth = noise.truth(_SAME_AS.get(failed.what, failed.what), failed.step, failed.tensor)
    return judged(failed, noise.rounding, moved, truth, noise.why_not)


def judged(
    failed: Comparison, rounding: Rounding, moved: np.ndarray | None, truth: np.ndarray | None, why_not: str = ""
) -> Comparison:
    """One failed comparison again. `truth` is the reference's answer in double precision, where both were given in
    less; `why_not` says why there is no sensitivity."""
    again = with_slack(failed, rounding.allow(moved), why_not)
    if again.status == "failed" and truth is not None and rounding.is_of_low_precision:
        again = _with_truth(again, truth, rounding.limit)
    if again.status == "failed":
        again = _beyond_the_limit(again, rounding.explain(moved), rounding.allow(moved))
    return again


def with_slack(failed: Comparison, slack: np.ndarray | None, why_not: str = "") -> Comparison:
    """One failed comparison again, with an absolute allowance for each element on top."""
    if slack is None or not _fits(failed, slack):
        return replace(failed, notes=(*failed.notes, why_not)) if why_not else failed
    again = _compared(failed, slack)
    if again.status != "passed":
        return failed
    note = f"beyond the base tolerance by {failed.max_abs:.2g}, within the rounding noise of this graph at this point"
    return replace(again, notes=(*again.notes, note))


def _with_truth(failed: Comparison, truth: np.ndarray, limit: float) -> Comparison:
    """Passed if it is about as near to double precision as the reference."""
    got, want = failed.got_array, failed.want_array
    if got is None or want is None or not _fits(failed, truth):
        return failed
    with np.errstate(all="ignore"):
        mine, theirs = np.abs(wide(got) - truth), np.abs(wide(want) - truth)
        worst = float(np.max(theirs, initial=0.0))
        allowed = (failed.atol or 0.0) + (failed.rtol or 0.0) * np.abs(truth) + min(_NO_WORSE * worst, limit)
        if not np.all((mine <= allowed) | (wide(got) == truth)):
            return failed
    note = f"as near to double precision ({float(np.max(mine)):.2g}) as {failed.reference} is ({worst:.2g})"
    return replace(
        failed, status="passed", mismatched=0, notes=(*failed.notes, note), got_array=None, want_array=None, mask=None
    )


def _beyond_the_limit(failed: Comparison, explained: np.ndarray | None, allowed: np.ndarray | None) -> Comparison:
    """Undecided if roundings could make as much of it, but more than may be allowed."""
    if explained is None or allowed is None or not _fits(failed, explained):
        return failed
    if np.all(explained <= allowed) or _compared(failed, explained).status != "passed":
        return failed
    worst = float(np.max(explained))
    extent = f"by {worst:.2g}" if np.isfinite(worst) else "anywhere"
    text = f"too ill-conditioned to be decided: rounding alone may move it {extent} at this point"
    return replace(failed, status="undecided", message=text)


def _compared(failed: Comparison, slack: np.ndarray) -> Comparison:
    want, got = failed.want_array, failed.got_array
    assert want is not None
    about = {name: getattr(failed, name) for name in _ABOUT}
    return compare(got, want, Limits(failed.rtol or 0.0, 0.0), slack=slack + (failed.atol or 0.0), **about)


def _fits(failed: Comparison, array: np.ndarray) -> bool:
    want, got = failed.want_array, failed.got_array
    return want is not None and got is not None and array.shape == want.shape
