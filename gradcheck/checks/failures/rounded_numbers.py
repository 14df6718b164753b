"""Numbers that a file states with fewer digits than they have: what is allowed for them is then what they lack."""

from __future__ import annotations

from decimal import Decimal

import numpy as np

from gradcheck.checks.failures.point_failures import PointFailures
from gradcheck.checks.result import Comparison, Diagnosis
from gradcheck.facts import fact
from gradcheck.language.claim_kind import ClaimKind

#: Of more numbers, none is looked at.
_MOST = 1000
#: Numbers that are further off than so much of themselves are wrong, and not rounded.
_COARSE = 0.01
_STATED = (ClaimKind.EXPECTED, ClaimKind.EXPECTED_VALUE)


def diagnose_rounded_numbers(failures: PointFailures) -> None:
    """Say of numbers that are the right ones, rounded as they are written, that they are, and what allows it."""
    for place in failures.failed(_STATED):
        c = failures.comparisons[place]
        if not c.diagnoses and (allows := tolerance_for(c)):
            found = Diagnosis("rounded", fact("numbers_are_rounded", rtol=allows), confidence="confirmed")
            failures.change(place, diagnoses=(found,))


def tolerance_for(c: Comparison) -> str:
    """A power of ten that allows for what rounding has left out; empty where it is not rounding alone."""
    got, want = c.got_array, c.want_array
    if got is None or want is None or got.shape != want.shape or not 0 < want.size <= _MOST:
        return ""
    if "c" in (got.dtype.kind, want.dtype.kind) or not (np.isfinite(got).all() and np.isfinite(want).all()):
        return ""
    pairs = list(zip(got.ravel().tolist(), want.ravel().tolist(), strict=True))
    furthest = max((abs(a - b) / abs(b) for a, b in pairs if b), default=0.0)
    if not 0 < furthest < _COARSE or not all(_is_rounded(float(a), float(b)) for a, b in pairs):
        return ""
    return f"1e{int(np.ceil(np.log10(furthest)))}"


def _is_rounded(number: float, written: float) -> bool:
    """Whether a number, in as many decimal places as `written` has, is that."""
    places: int = -int(Decimal(repr(written)).normalize().as_tuple().exponent)
    return abs(number - written) <= 0.5000001 * 10.0**-places
