"""Arrays in double precision, and their scale."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.autograd.dtypes import BY_NAME, largest_finite, wide


@pytest.mark.parametrize("name", BY_NAME)
def test_wide_keeps_the_values_in_double_precision(name: str) -> None:
    array = np.array([0, 1, 1]).astype(BY_NAME[name])
    made = wide(array)
    assert made.dtype == (np.complex128 if array.dtype.kind == "c" else np.float64)
    assert made.tolist() == [0, 1, 1]


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_wide_is_a_copy(dtype: type) -> None:
    array = np.ones(2, dtype)
    wide(array)[0] = 7
    assert array[0] == 1


@pytest.mark.parametrize(
    ("array", "largest"),
    [
        (np.array([1.0, -3.0, 2.0]), 3.0),
        (np.array([np.nan, np.inf, -np.inf, -2.0]), 2.0),
        (np.array([3 + 4j, np.nan + 0j, 1j]), 5.0),
        (np.array([np.nan]), 0.0),
        (np.zeros((0, 3)), 0.0),
        (np.array([-128], np.int8), 128.0),
        (np.array([True]), 1.0),
        (np.array(-2.5, BY_NAME["bfloat16"]), 2.5),
        (np.array([3e38 + 3e38j], np.complex64), 3e38 * 2**0.5),
    ],
)
def test_the_largest_finite_element(array: np.ndarray, largest: float) -> None:
    assert largest_finite(array) == pytest.approx(largest, rel=1e-6)
