"""Dtypes by name, their siblings, and arrays in double precision."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.autograd import dtypes


def test_names_are_torchs() -> None:
    torch = pytest.importorskip("torch")
    for name, dtype in dtypes.BY_NAME.items():
        assert dtype.itemsize == getattr(torch, name).itemsize
    for alias, name in dtypes.ALIASES.items():
        assert getattr(torch, alias) is getattr(torch, name)


def test_categories_are_ordered_and_the_last_two_have_gradients() -> None:
    found = [(dtypes.category(d), dtypes.is_differentiable(d)) for d in map(np.dtype, ("bool", "uint8", "f2", "c8"))]
    assert found == [(0, False), (1, False), (2, True), (3, True)]
    assert dtypes.category(dtypes.BFLOAT16) == 2
    assert dtypes.is_differentiable(dtypes.BFLOAT16)


@pytest.mark.parametrize(
    ("name", "complex_", "real", "double"),
    [
        ("float32", "complex64", "float32", "float64"),
        ("float16", "complex64", "float16", "float64"),
        ("float64", "complex128", "float64", "float64"),
        ("complex64", "complex64", "float32", "complex128"),
        ("complex128", "complex128", "float64", "complex128"),
    ],
)
def test_siblings(name: str, complex_: str, real: str, double: str) -> None:
    dtype = dtypes.BY_NAME[name]
    assert (dtypes.complex_of(dtype), dtypes.real_of(dtype), dtypes.double_of(dtype)) == (complex_, real, double)


def test_an_argument_may_name_a_dtype() -> None:
    otherwise = np.dtype(np.float32)
    assert dtypes.named(None, otherwise) is otherwise
    assert dtypes.named("bfloat16", otherwise) == dtypes.BFLOAT16
    assert dtypes.named(np.int64, otherwise) == np.int64
    with pytest.raises(TypeError):
        dtypes.named("float8", otherwise)


@pytest.mark.parametrize("name", dtypes.BY_NAME)
def test_wide_keeps_the_values_in_double_precision(name: str) -> None:
    array = np.array([0, 1, 1]).astype(dtypes.BY_NAME[name])
    made = dtypes.wide(array)
    assert made.dtype == (np.complex128 if array.dtype.kind == "c" else np.float64)
    assert made.tolist() == [0, 1, 1]


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_wide_is_a_copy(dtype: type) -> None:
    array = np.ones(2, dtype)
    dtypes.wide(array)[0] = 7
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
        (np.array(-2.5, dtypes.BY_NAME["bfloat16"]), 2.5),
        (np.array([3e38 + 3e38j], np.complex64), 3e38 * 2**0.5),
    ],
)
def test_the_largest_finite_element(array: np.ndarray, largest: float) -> None:
    assert dtypes.largest_finite(array) == pytest.approx(largest, rel=1e-6)
