"""Give a failed comparison the allowance that rounding noise explains, and see whether it still fails."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, replace

import numpy as np

from gradcheck.checks.compare import compare
from gradcheck.checks.noise import Noise
from gradcheck.checks.result import Comparison
from gradcheck.checks.tolerance import Limits

_ABOUT = ("what", "tensor", "step", "engine", "reference", "place", "formula", "trial")
#: Claims about known numbers are as noisy as the gradient or value that they are about.
_SAME_AS = {"expected": "gradient", "expected_value": "value"}

assert {*_ABOUT} <= {field.name for field in fields(Comparison)}


def widen(comparisons: Iterable[Comparison], noise: Noise) -> list[Comparison]:
    """The comparisons of values and gradients, those that failed by rounding noise alone passed, with a note."""
    found = []
    for comparison in comparisons:
        if comparison.status == "failed" and noise.may_explain(comparison):
            what = _SAME_AS.get(comparison.what, comparison.what)
            slack = noise.slack(what, comparison.step, comparison.tensor)
            comparison = with_slack(comparison, slack, noise.why_not)
        found.append(comparison)
    return found


def with_slack(failed: Comparison, slack: np.ndarray | None, why_not: str = "") -> Comparison:
    """One failed comparison again, with an absolute allowance for each element on top."""
    want, got = failed.want_array, failed.got_array
    if slack is None or want is None or got is None or slack.shape != want.shape:
        return replace(failed, notes=(*failed.notes, why_not)) if why_not else failed
    about = {name: getattr(failed, name) for name in _ABOUT}
    limits = Limits(failed.rtol or 0.0, 0.0)
    allowed = slack + (failed.atol or 0.0)
    again = compare(got, want, limits, slack=allowed, **about)
    if again.status != "passed":
        return failed
    note = f"beyond the base tolerance by {failed.max_abs:.2g}, within the rounding noise of this graph at this point"
    return replace(again, notes=(*again.notes, note))
