"""The error function, against the C library's, and its limits."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gradcheck.autograd.ops import error_functions
from tests.autograd.ops.both import agree, refused

ENDS = [0.25, 0.84375, 1.25, 1 / 0.35, 6.0, 26.0]
POINTS = np.concatenate(
    [
        np.random.default_rng(0).uniform(-6, 6, 5000),
        np.random.default_rng(1).uniform(-3, 26, 5000),
        *(sign * np.logspace(-300, 0, 500) for sign in (1, -1)),
        *([end, np.nextafter(end, 0), np.nextafter(end, 30), -end] for end in ENDS),
    ]
)


def ulps(got: np.ndarray, want: np.ndarray) -> float:
    """The largest distance in units in the last place of `want`."""
    return float(np.max(np.abs(got - want) / np.spacing(np.abs(want))))


def test_erf_is_within_two_units_of_the_c_library() -> None:
    """Which itself errs by almost one."""
    assert ulps(error_functions.erf(POINTS), np.array([math.erf(x) for x in POINTS])) <= 2


def test_erfc_is_within_five_units_of_the_c_library() -> None:
    """Which itself errs by more than two, as this does by almost two."""
    assert ulps(error_functions.erfc(POINTS), np.array([math.erfc(x) for x in POINTS])) <= 5


def test_they_end_in_their_limits() -> None:
    ends = np.array([np.inf, -np.inf, np.nan, 0.0, 40.0, -40.0])
    np.testing.assert_array_equal(error_functions.erf(ends), [1, -1, np.nan, 0, 1, -1])
    np.testing.assert_array_equal(error_functions.erfc(ends), [0, 2, np.nan, 1, 0, 2])
    assert np.signbit(error_functions.erf(np.array([-0.0])))[0]


@pytest.mark.parametrize("shape", [(), (0,), (1,), (2, 0, 3), (2, 3)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_shape_and_dtype_are_kept(shape: tuple[int, ...], dtype: type) -> None:
    x = np.full(shape, 0.5, dtype)
    for result in (error_functions.erf(x), error_functions.erfc(x)):
        assert (result.shape, result.dtype) == (x.shape, x.dtype)


def test_zero_times_the_logarithm_of_zero_is_zero() -> None:
    assert error_functions.xlogy(np.array([0.0, 0.0]), np.array([0.0, np.inf])).tolist() == [0, 0]
    assert np.isnan(error_functions.xlogy(np.array(0.0), np.array(np.nan)))
    agree("xlogy(x, y)", x=np.array([0.0, 2.0]), y=np.array([1.0, 3.0]))


def test_complex_numbers_have_no_error_function_here() -> None:
    assert refused("erf(complex(randn(2), randn(2)))") == ("dtype_mismatch", "dtype_mismatch")
