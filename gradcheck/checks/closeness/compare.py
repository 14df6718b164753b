"""Compare two arrays element by element, and find the worst element.

Explanations need only whether arrays are nearly equal, by one of three tolerances: what rounding leaves
(`rounding_tolerance`), what a derivation may lose (`derivation_tolerance`), and what a comparison allowed
(`Tolerance.of`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.dtypes import is_differentiable, largest_finite, real_of, wide
from gradcheck.autograd.modes import quiet
from gradcheck.checks.closeness.tolerance import ROUNDINGS, Tolerance, base, epsilon, ulp
from gradcheck.checks.result import Comparison, Subject
from gradcheck.facts import Fact, fact

_FLOAT64 = np.dtype(np.float64)
_WIDE = (_FLOAT64, np.dtype(np.complex128))
_INFINITY = float("inf")
#: The smallest agreement that is measured, in roundings.
_ROUNDINGS = 16.0
#: Errors that differ by less than this part count as equal when the worst is chosen.
_ALIKE = 1e-3
#: Larger arrays are compared one by one: joining them would cost more.
_MOST_AT_ONCE = 4_000

#: A value or gradient, None for none.
Maybe: TypeAlias = np.ndarray | None
#: An array and the array that is expected.
Pair: TypeAlias = tuple[np.ndarray, np.ndarray]


def compare(
    got: Maybe, want: Maybe, tolerance: Tolerance, subject: Subject, slack: np.ndarray | None = None
) -> Comparison:
    """Compare presence, shape and dtype, then every element.

    `slack` is an absolute allowance for each element on top of the tolerance (see `conditioning`)."""
    with quiet():
        if got is None or want is None:
            return _compare_missing(got, want, subject)
        if got.shape != want.shape or got.dtype != want.dtype:
            return _compare_unlike(got, want, subject)
        if slack is None and not tolerance.measures_agreement and agree(got, want, tolerance):
            return passed_comparison(want, subject)
        return _examine(got, want, tolerance, subject, slack)


def agree(got: np.ndarray, want: np.ndarray, tolerance: Tolerance) -> bool:
    """Return whether finite arrays of one shape and dtype are close.

    False only means that `compare` must decide. NumPy's warnings must be off."""
    if not want.size:
        return True
    if want.dtype not in _WIDE:
        if want.dtype.kind in "biu":
            return bool((got == want).all())
        got, want = wide(got), wide(want)
    error = got - want
    if not np.count_nonzero(error):  # neither is infinite: the difference of two infinities is no number
        return True
    error = np.abs(error)
    near = np.count_nonzero(error <= tolerance.allowed(np.abs(want))) == error.size
    return near and bool(np.maximum.reduce(error, axis=None) < _INFINITY)


def all_agree(pairs: Sequence[Pair], tolerance: Callable[[np.ndarray], Tolerance]) -> bool:
    """Return whether all pairs agree, each dtype compared at once.

    `tolerance` is called with the second array. False only means that each pair must be compared."""
    got, want = [one for one, _ in pairs], [other for _, other in pairs]
    kinds = [array.dtype for array in want]
    if [array.shape for array in got] != [array.shape for array in want] or [array.dtype for array in got] != kinds:
        return False
    if max([array.size for array in want], default=0) > _MOST_AT_ONCE:
        return False
    several = dict.fromkeys(kinds)
    for dtype in several:
        mine, theirs = got, want
        if len(several) > 1:
            mine, theirs = ([array for array in side if array.dtype == dtype] for side in (got, want))
        allowed = tolerance(theirs[0])
        if allowed.measures_agreement or not agree(_joined(mine, dtype), _joined(theirs, dtype), allowed):
            return False
    return True


def _joined(arrays: Sequence[np.ndarray], dtype: np.dtype) -> np.ndarray:
    """Return all elements as one array, three times faster than NumPy joins."""
    return np.frombuffer(b"".join([array.tobytes() for array in arrays]), dtype)


def passed_comparison(want: np.ndarray, subject: Subject) -> Comparison:
    """Return the comparison of an array that agrees with this one."""
    return subject.passed(shape=want.shape, dtype=dtype_name(want.dtype), elements=want.size)


@lru_cache(maxsize=64)
def dtype_name(dtype: np.dtype) -> str:
    """Return a dtype's name, which NumPy computes anew each time."""
    return dtype.name


def is_all_nan_or_empty(found: Comparison) -> bool:
    """Return whether all elements are NaN on both sides, or there are none."""
    if found.elements == 0:
        return True
    return any(note.kind == "nans_agree" and note["count"] == found.elements for note in found.notes)


def _compare_missing(got: Maybe, want: Maybe, subject: Subject) -> Comparison:
    present = want if got is None else got
    if present is None:
        return subject.passed()
    known = (present.shape, dtype_name(present.dtype), present.size)
    if not np.any(present):
        side = "got" if got is None else "want"
        return Comparison(subject, "passed", *known, notes=(fact("none_agrees_with_zeros", none=side),))
    mask = present != 0
    worst = tuple(int(i) for i in np.unravel_index(int(np.argmax(np.abs(wide(present)))), present.shape))
    return Comparison(
        subject,
        "failed",
        *known,
        mismatch=fact("gradient_missing" if got is None else "gradient_unexpected"),
        mismatched=int(mask.sum()),
        worst_index=worst,
        got=None if got is None else _number(got[worst]),
        want=None if want is None else _number(want[worst]),
        got_array=got,
        want_array=want,
        mask=mask,
    )


def _compare_unlike(got: np.ndarray, want: np.ndarray, subject: Subject) -> Comparison:
    if got.shape != want.shape:
        mismatch = fact("shapes_differ", got=got.shape, want=want.shape)
    else:
        mismatch = fact("dtypes_differ", got=dtype_name(got.dtype), want=dtype_name(want.dtype))
    return Comparison(
        subject,
        "failed",
        want.shape,
        dtype_name(want.dtype),
        want.size,
        mismatch=mismatch,
        mismatched=want.size,
        got_array=got,
        want_array=want,
    )


def _examine(
    got: np.ndarray, want: np.ndarray, tolerance: Tolerance, subject: Subject, slack: np.ndarray | None
) -> Comparison:
    known = (want.shape, dtype_name(want.dtype), want.size)
    if not want.size:
        return Comparison(subject, "passed", *known)
    wide_want = wide(want)
    error, notes = _errors(got, want, wide(got), wide_want)
    magnitude = np.abs(wide_want)
    allowed = tolerance.allowed(magnitude, slack)
    mask = (~(error <= allowed) & (error > 0)) | np.isinf(error)
    worst = _worst(error, allowed, mask)
    failed = bool(mask.any())
    return Comparison(
        subject,
        "failed" if failed else "passed",
        *known,
        notes=notes,
        max_abs=float(error.max()),
        max_rel=float(np.where(np.isin(error, (0.0, _INFINITY)), error, error / magnitude).max()),
        max_ulp=_ulps(error, magnitude, want.dtype),
        agreement=_agreement(error, want, tolerance) if tolerance.measures_agreement else None,
        mismatched=int(mask.sum()),
        worst_index=worst,
        got=_number(got[worst]),
        want=_number(want[worst]),
        atol=tolerance.atol + (float(slack[worst]) if slack is not None else 0.0),
        rtol=tolerance.rtol,
        got_array=got if failed else None,
        want_array=want if failed else None,
        mask=mask if failed else None,
    )


def _agreement(error: np.ndarray, want: np.ndarray, tolerance: Tolerance) -> float:
    """Return the largest relative error of elements that do not cancel."""
    magnitude = np.abs(wide(want))
    near = (error <= tolerance.rtol * magnitude) & (error > 0)
    largest = float((error[near] / magnitude[near]).max()) if near.any() else 0.0
    return max(largest, _ROUNDINGS * epsilon(want.dtype))


def _errors(
    got: np.ndarray, want: np.ndarray, wide_got: np.ndarray, wide_want: np.ndarray
) -> tuple[np.ndarray, tuple[Fact, ...]]:
    """Return errors, infinite where NaN meets a number; notes on equal NaNs."""
    nans = np.isnan(wide_got) & np.isnan(wide_want)
    same = got == want
    infinities = same & np.isinf(wide_want)
    error = np.where(same | nans, 0.0, np.abs(wide_got - wide_want))
    error = np.where(np.isnan(error), _INFINITY, error)
    if got.dtype.kind in "biu":  # large integers may differ by less than float64 can tell
        error = np.where(~same & (error == 0), 1.0, error)
    notes = (fact("nans_agree", count=int(nans.sum())), fact("infinities_agree", count=int(infinities.sum())))
    return error, tuple(note for note in notes if note["count"])


def _worst(error: np.ndarray, allowed: np.ndarray, mask: np.ndarray) -> tuple[int, ...]:
    """Return the index of the element that exceeds its allowance most.

    Elements within `_ALIKE` are equal; then the largest error wins, then the first. So rounding does not choose."""
    excess = np.where(error == 0, 0.0, error / allowed)
    excess[mask & np.isnan(excess)] = _INFINITY
    leading = np.where(_nearly_largest(excess), error, -1.0)
    flat = int(np.argmax(_nearly_largest(leading)))
    return tuple(int(i) for i in np.unravel_index(flat, error.shape))


def _nearly_largest(numbers: np.ndarray) -> np.ndarray:
    nearly: np.ndarray = numbers >= (1 - _ALIKE) * numbers.max()
    return nearly


def _ulps(error: np.ndarray, magnitude: np.ndarray, dtype: np.dtype) -> float:
    if not dtypes.is_differentiable(dtype) or not epsilon(dtype):
        return float(error.max())
    finite = np.where(np.isfinite(magnitude), magnitude, 1.0)
    return float((error / ulp(finite, dtype)).max())


def _number(value: Any) -> float | complex | int:
    number = value.item() if hasattr(value, "item") else value
    return number if isinstance(number, (bool, int, float, complex)) else float(number)


#: What a derivation may lose, relative to the largest element, by the bytes of a real number.
DERIVATION = {8: 1e-8, 4: 1e-3, 2: 5e-2}


def nearly_equal(
    got: np.ndarray, want: np.ndarray, tolerance: Tolerance | None = None, slack: np.ndarray | None = None
) -> bool:
    """Return whether two arrays of one shape agree in every element.

    NaN agrees with NaN, and an infinity only with itself.

    Args:
        tolerance: by default `derivation_tolerance(want)`.
        slack: absolute, of the arrays' shape: what rounding explains of each element.
    """
    if got.shape != want.shape:
        return False
    with np.errstate(all="ignore"):
        left, right = wide(got), wide(want)
        allowed = (tolerance or derivation_tolerance(want)).allowed(np.abs(right), slack)
        same = (left == right) | (np.isnan(left) & np.isnan(right))
        return bool((same | (np.isfinite(right) & (np.abs(left - right) <= allowed))).all())


def rounding_tolerance(*dtypes: np.dtype, scale: float, margin: float = 1.0) -> Tolerance:
    """Return the tolerance of right computations in the coarsest dtype.

    Args:
        scale: the largest magnitude before terms cancel; what cancels is off by roundings of it.
        margin: how many times as much is allowed.
    """
    rtol = max(base(dtype).rtol for dtype in dtypes)
    floor = min(rtol, ROUNDINGS * max(map(epsilon, dtypes)))
    return Tolerance(margin * rtol, margin * floor * scale)


def derivation_tolerance(want: np.ndarray) -> Tolerance:
    """Return the absolute tolerance of a formula; integers must be equal."""
    part = DERIVATION[real_of(want.dtype).itemsize] if is_differentiable(want.dtype) else 0.0
    return Tolerance(0.0, part * largest_finite(want))
