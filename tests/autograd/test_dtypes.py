"""Dtypes by name, and their siblings."""

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
