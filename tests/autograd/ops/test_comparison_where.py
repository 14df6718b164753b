"""Comparisons and `where`: NaN, invalid masks, infinities."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck import Tensor, ops
from gradcheck.autograd.dtypes import BFLOAT16
from gradcheck.errors import DtypeMismatch, ShapeMismatch
from tests.autograd.ops.both import agree, normal, refused_by_both


def test_what_is_not_chosen_gets_a_gradient_of_zero() -> None:
    x, y = Tensor([np.nan, 1.0], requires_grad=True), Tensor([2.0, np.inf], requires_grad=True)
    ops.where(np.array([False, True]), x, y).backward(np.array([5.0, 7.0]))
    assert (x.grad.tolist(), y.grad.tolist()) == ([0, 7], [5, 0])  # type: ignore[union-attr]


def test_masked_fill() -> None:
    x, mask = normal(2, 3), np.array([True, False, True])
    agree("x.masked_fill(m, 0.5)", x=x, m=mask)
    agree("v.masked_fill(m, s)", v=normal(3), m=np.array([[True], [False]]), s=np.array(2.0))
    with pytest.raises(DtypeMismatch):
        ops.masked_fill(x, x, 1)
    with pytest.raises(ShapeMismatch):
        ops.masked_fill(x, mask, x)


@pytest.mark.parametrize("dtype", [np.float16, BFLOAT16, np.float32, np.float64])
def test_infinities_become_the_largest_numbers_of_their_dtype(dtype: type) -> None:
    found = ops.nan_to_num(np.array([np.inf, -np.inf, np.nan]).astype(dtype))
    assert found.dtype == dtype
    values = found.astype(np.float64)
    assert np.isfinite(values).all()
    assert (values[0], values[2]) == (-values[1], 0)
    with np.errstate(over="ignore"):
        assert np.isinf((found * 2).astype(np.float64)[:2]).all()


def test_closeness_is_relative_to_the_second() -> None:
    assert ops.isclose(np.array(100.0), np.array(101.0), rtol=0.01, atol=0.0)
    assert not ops.isclose(np.array(101.01), np.array(100.0), rtol=0.01, atol=0.0)
    assert ops.isclose(np.array(np.nan), np.array(np.nan), equal_nan=True)


test_both_refuse_in_the_same_way = refused_by_both(
    ("dtype_mismatch", "where(randn(3), 1.0, randn(3))"),
    ("dtype_mismatch", "complex(randn(2), randn(2)) < 1"),
    ("dtype_mismatch", "bitwise_and(randn(2), randn(2))"),
    ("dtype_mismatch", "~randn(2)"),
    ("shape_mismatch", "where(randn(3) > 0, randn(3), randn(2))"),
)
