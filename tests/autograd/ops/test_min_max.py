"""Maxima and minima: ties, NaN, crossing bounds, all forms of `max`."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck import Tensor, ops
from gradcheck.errors import ArgumentError
from tests.autograd.ops.both import refused_by_both


def test_ties_share_the_gradient() -> None:
    x = Tensor([1.0, 3.0, 3.0], requires_grad=True)
    ops.amax(x).backward(np.array(1.0))
    assert x.grad is not None
    assert x.grad.tolist() == [0, 0.5, 0.5]


def test_only_fmax_and_fmin_pass_over_nan() -> None:
    a, b = np.array([np.nan, 1.0]), np.array([2.0, np.nan])
    assert np.isnan(ops.maximum(a, b)).all()
    assert ops.fmax(a, b).tolist() == ops.fmin(a, b).tolist() == [2, 1]


def test_bounds_pass_the_gradient_and_where_they_cross_the_upper_counts() -> None:
    x, high = Tensor([-1.0, 0.0, 1.0], requires_grad=True), Tensor([-3.0], requires_grad=True)
    ops.clamp(x, 0.0, 1.0).backward(np.ones(3))
    assert x.grad is not None
    assert x.grad.tolist() == [0, 1, 1]
    crossed = ops.clamp(x, -2.0, high)
    crossed.backward(np.ones(3))
    assert high.grad is not None
    assert (crossed.tolist(), high.grad.tolist()) == ([-3, -3, -3], [3])
    with pytest.raises(ArgumentError, match="min, max or both"):
        ops.clamp(x)


def test_the_three_forms_of_max() -> None:
    x = np.array([[1.0, 5.0], [7.0, 2.0]])
    assert ops.max(x) == 7
    assert [part.tolist() for part in ops.max(x, 1)] == [[5, 7], [1, 0]]
    assert ops.max(x, np.array(3.0)).tolist() == [[3, 5], [7, 3]]
    with pytest.raises(ArgumentError, match="one dimension"):
        ops.min(x, (0, 1))


test_both_refuse_in_the_same_way = refused_by_both(
    ("dtype_mismatch", "maximum(complex(randn(2), randn(2)), complex(randn(2), randn(2)))"),
    ("dtype_mismatch", "amax(complex(randn(2), randn(2)))"),
    ("dtype_mismatch", "clamp(complex(randn(2), randn(2)), 0, 1)"),
    ("index_out_of_range", "argmax(randn(2, 3), 2)"),
    ("index_out_of_range", "argmax(randn(0))"),
    ("index_out_of_range", "argmin(randn(0, 3), 0)"),
    ("index_out_of_range", "max(randn(2, 3), 2)"),
    ("index_out_of_range", "max(randn(0, 3), 0)"),
    ("index_out_of_range", "amax(randn(0, 3), 0)"),
    ("shape_mismatch", "amax(randn(2, 3), (0, -2))"),
    ("shape_mismatch", "max(randn(0))"),
    ("shape_mismatch", "amin(randn(0))"),
)
