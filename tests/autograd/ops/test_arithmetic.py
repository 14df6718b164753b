"""Arithmetic: signs, rounded quotients, exact ends."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck import Tensor, ops
from gradcheck.errors import ArgumentError, DomainError
from tests.autograd.ops.both import agree, normal, refused_by_both


def test_the_gradient_of_a_magnitude_at_zero_is_zero() -> None:
    x = Tensor([0.0, -2.0, 3.0], requires_grad=True)
    ops.abs(x).backward(np.ones(3))
    assert x.grad is not None
    assert x.grad.tolist() == [0, -1, 1]
    assert ops.sign(np.array([np.nan, -0.0, 5.0])).tolist() == [0, 0, 1]
    agree("abs(z) + sgn(z)", z=normal(3) + 1j * normal(3, seed=1))


def test_quotients_rounded_down_or_toward_zero() -> None:
    seven = np.array([7, -7])
    assert ops.div(seven, 2, rounding_mode="floor").tolist() == [3, -4]
    assert ops.div(seven, 2, rounding_mode="trunc").tolist() == [3, -3]
    assert ops.div(seven, 2).tolist() == [3.5, -3.5]
    with pytest.raises(ArgumentError, match="rounding_mode"):
        ops.div(seven, 2, rounding_mode="up")
    for mode in ("floor", "trunc"):
        with pytest.raises(DomainError, match="divided by zero"):
            ops.div(seven, 0, rounding_mode=mode)


def test_interpolation_meets_both_ends_exactly() -> None:
    start, end = np.array([0.1, 1e16]), np.array([0.7, 1.0])
    np.testing.assert_array_equal(ops.lerp(start, end, 0.0), start)
    np.testing.assert_array_equal(ops.lerp(start, end, 1.0), end)


def test_a_hypotenuse_does_not_overflow() -> None:
    assert ops.hypot(np.array(3e200), np.array(4e200)) == pytest.approx(5e200)


test_both_refuse_in_the_same_way = refused_by_both(
    ("dtype_mismatch", "hypot(randint(0, 5, [3]), randint(0, 5, [3]))"),
    ("dtype_mismatch", "abs(tensor([True]))"),
    ("dtype_mismatch", "-tensor([True, False])"),
    ("shape_mismatch", "randn(2, 3) + randn(2, 2)"),
    ("shape_mismatch", "lerp(randn(3), randn(3), randn(2))"),
)
