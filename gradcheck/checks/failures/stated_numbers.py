"""Stated numbers that differ, by a mistake or by rounding."""

from __future__ import annotations

from decimal import Decimal

import numpy as np

from gradcheck.checks.failures.diagnosis.catalogue import Evidence
from gradcheck.checks.failures.point_failures import MAX_DIAGNOSED, PointFailures, diagnose
from gradcheck.checks.result import Comparison, Diagnosis
from gradcheck.engines.base import Engine
from gradcheck.facts import fact
from gradcheck.language.claim_kind import ClaimKind

#: The smallest array that is diagnosed: almost any mistake fits fewer numbers.
_FEW = 3
#: The largest array that is compared digit by digit.
_MOST = 1000
#: A larger relative error is no rounding.
_COARSE = 0.01
_STATED = (ClaimKind.EXPECTED, ClaimKind.EXPECTED_VALUE)


def mark_stated_consequences(failures: PointFailures, engine: Engine) -> None:
    """Mark stated numbers as consequences of the wrong gradient they miss."""
    found = [failures.comparisons[place] for place in failures.failed((ClaimKind.GRADIENT,), engine.name)]
    wrong = {(c.tensor, c.step): c.cause.origin if c.cause is not None else c.consequence_of for c in found}
    for place in failures.failed((ClaimKind.EXPECTED,), engine.name):
        c = failures.comparisons[place]
        origin = wrong.get((c.tensor, c.step))
        if origin is not None:
            failures.mark_consequences(origin, [place])


def diagnose_rounded_numbers(failures: PointFailures) -> None:
    """Diagnose numbers that are right but written with too few digits."""
    for place in failures.failed(_STATED):
        c = failures.comparisons[place]
        if not c.diagnoses and (rtol := rounding_rtol(c)):
            found = Diagnosis("rounded", fact("numbers_are_rounded", rtol=rtol), confidence="confirmed")
            failures.change(place, diagnoses=(found,))


def rounding_rtol(c: Comparison) -> str:
    """Return the power of ten that allows for missing digits; "" otherwise."""
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
    """Return whether `written` is a number rounded to its decimal places."""
    places: int = -int(Decimal(repr(written)).normalize().as_tuple().exponent)
    return abs(number - written) <= 0.5000001 * 10.0**-places


def diagnose_stated_gradients(failures: PointFailures) -> None:
    """Diagnose stated gradients that the engines agree are wrong."""
    wrong: dict[tuple[str, int], list[int]] = {}
    for place in failures.failed_here((ClaimKind.EXPECTED,)):
        c = failures.comparisons[place]
        if not c.consequence_of and not c.diagnoses:
            wrong.setdefault((c.tensor, c.step), []).append(place)
    for places in list(wrong.values())[:MAX_DIAGNOSED]:
        found = [failures.comparisons[place] for place in places]
        compared = next((c for c in found if c.engine == failures.reference.name), None)
        if compared is None or compared.got_array is None or compared.want_array is None:
            continue
        if compared.want_array.size < _FEW:
            continue
        right = failures.point.want.state(compared.step).gradients
        others = {name: g for name, g in right.items() if g is not None and name != compared.tensor}
        rtol = compared.rtol or 0.0
        evidence = Evidence(compared.want_array, compared.got_array, others=others, rounding_rtol=rtol, is_stated=True)
        diagnoses = diagnose([evidence])
        if diagnoses[0].kind != "unknown":
            for place in places:
                failures.change(place, diagnoses=diagnoses)
