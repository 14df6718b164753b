"""Running sums and products: zeros spoil nothing, long runs stay exact."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck import Tensor, ops
from gradcheck.autograd.ops.cumulative_sums import exclusive_products
from tests.autograd.ops.both import agree, refused_by_both


@pytest.mark.parametrize("zeros", [[], [0], [3], [2, 5]])
def test_the_gradient_of_running_products_with_zeros(zeros: list[int]) -> None:
    values = np.arange(1.0, 8.0) / 4
    values[zeros] = 0
    agree("cumprod(x, 0)", x=values)


def test_all_other_factors() -> None:
    assert exclusive_products(np.array([2.0, 0.0, 3.0]), 0).tolist() == [0, 6, 0]
    assert exclusive_products(np.array([2.0, 5.0, 3.0]), 0).tolist() == [15, 6, 10]


def test_the_gradient_of_a_long_run_takes_few_steps() -> None:
    x = Tensor(np.ones(1000), requires_grad=True)
    ops.cumprod(x, 0).backward(np.ones(1000))
    assert x.grad is not None
    assert x.grad.tolist() == list(range(1000, 0, -1))


test_both_refuse_in_the_same_way = refused_by_both(
    ("index_out_of_range", "cumsum(randn(2, 3), 2)"),
    ("index_out_of_range", "cumprod(randn(2, 3), -3)"),
)
