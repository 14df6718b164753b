"""Exponentials, logarithms and powers: zeros, negatives, numbers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from gradcheck import Tensor, ops
from tests.autograd.ops.both import agree, normal, refused_by_both


@pytest.mark.parametrize(
    ("power", "x", "slope"),
    [
        (lambda x: x**2, 0.0, 0.0),
        (lambda x: x**0, 0.0, 0.0),
        (lambda x: 0**x, 2.0, 0.0),
        (lambda x: 2**x, 0.0, np.log(2)),
        (lambda x: (-2) ** x, 2.0, np.nan),
    ],
)
def test_powers_at_zero_and_of_numbers(power: Callable[[Tensor], Tensor], x: float, slope: float) -> None:
    leaf = Tensor([x], requires_grad=True)
    power(leaf).backward(np.ones(1))
    assert leaf.grad is not None
    np.testing.assert_allclose(leaf.grad.data, slope)


def test_the_gradient_of_an_exponent_is_torchs() -> None:
    agree("pow(x, p)", x=np.array([0.0, 0.0, 2.0]), p=np.array([0.0, 2.0, 3.0]))
    agree("pow(x, p)", x=np.array([-2.0, 3.0]) + 0j, p=normal(2))


def test_a_complex_exponent_of_0_is_flat_at_0() -> None:
    """torch's value is NaN there, its gradient is not."""
    x, p = Tensor(np.zeros(2)), Tensor(np.array([0j, 1 + 0j]), requires_grad=True)
    ops.pow(x, p).backward(np.ones(2, complex))
    assert p.grad is not None
    np.testing.assert_array_equal(p.grad.data, [0, 0])


def test_sums_of_exponentials_do_not_overflow() -> None:
    agree("logaddexp(x, y)", x=np.array([1e4, -1e4, 0.0]), y=np.array([1e4, 0.0, -1e4]))
    agree("logaddexp(x, y)", x=np.array([1 + 2j, -3j]), y=np.array([2 - 1j, 1 + 1j]))


test_both_refuse_in_the_same_way = refused_by_both(
    ("dtype_mismatch", "logaddexp(randint(0, 5, [3]), randint(0, 5, [3]))"),
    ("domain_error", "randint(1, 5, [3]) ** -1"),
)
