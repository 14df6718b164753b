"""Checks of arguments; casts and sums."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.autograd.dtypes import BFLOAT16
from gradcheck.autograd.ops.common.arguments import (
    accumulate,
    cast_array,
    refuse_complex,
    require_floating,
    require_full_precision,
    require_matrices,
    require_square,
)
from gradcheck.errors import DtypeMismatch, ShapeMismatch


def test_kinds_that_an_op_does_not_take() -> None:
    refuse_complex("amax", np.dtype(np.float64))
    require_floating("mean", np.dtype(np.complex64))
    require_floating("mean", BFLOAT16)
    with pytest.raises(DtypeMismatch, match="amax does not take complex numbers"):
        refuse_complex("amax", np.dtype(np.complex64))
    for dtype in (np.int64, np.bool_):
        with pytest.raises(DtypeMismatch, match="mean takes floating"):
            require_floating("mean", np.dtype(dtype))


def test_complex_numbers_become_real_ones_without_a_warning() -> None:
    assert cast_array(np.array([1 + 2j]), np.dtype(np.float64)).tolist() == [1]
    assert cast_array(np.array([1 + 2j]), np.dtype(np.complex64)).dtype == np.complex64
    assert cast_array(np.array([2j]), np.dtype(bool)).tolist() == [True]


def test_sums_count_in_int64_and_halves_in_single_precision() -> None:
    assert accumulate(np.sum, np.full(2, 200, np.uint8), None) == 400
    ones = np.ones(4096, np.float16)
    found = accumulate(lambda x: np.cumsum(x)[-1], ones, None)
    assert (found, found.dtype) == (4096, np.float16)
    assert accumulate(np.sum, ones, "float64").dtype == np.float64


def test_what_fits_is_handed_back() -> None:
    batch = np.ones((5, 2, 2))
    assert require_matrices(batch, "op") is require_square(batch, "op") is require_full_precision(batch, "op") is batch


def test_what_does_not_fit_is_named() -> None:
    with pytest.raises(ShapeMismatch, match=r"pinv takes matrices, not a shape of \[3\]"):
        require_matrices(np.ones(3), "pinv")
    with pytest.raises(ShapeMismatch, match=r"det takes square matrices, not a shape of \[2, 3\]"):
        require_square(np.ones((2, 3)), "det")
    with pytest.raises(DtypeMismatch, match="int64"):
        require_square(np.ones((2, 2), np.int64), "det")
    with pytest.raises(DtypeMismatch, match="half precision") as caught:
        require_full_precision(np.ones((2, 2), np.float16), "det")
    assert "float()" in str(caught.value.hint)
