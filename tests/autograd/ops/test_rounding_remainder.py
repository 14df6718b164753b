"""Rounding: halves, decimals, remainders of both kinds, division by zero."""

from __future__ import annotations

import numpy as np

from gradcheck import Tensor, ops
from tests.autograd.ops.both import refused_by_both


def test_halves_go_to_the_even_and_decimals_may_be_negative() -> None:
    assert ops.round(np.array([0.5, 1.5, 2.5, -0.5])).tolist() == [0, 2, 2, 0]
    assert ops.round(np.array([1234.0]), decimals=-2).tolist() == [1200]


def test_integers_keep_their_dtype() -> None:
    for op in (ops.floor, ops.ceil, ops.trunc, ops.round):
        assert op(np.array([3])).dtype == np.int64


def test_a_remainder_has_the_sign_of_the_divisor_or_of_the_dividend() -> None:
    assert ops.remainder(np.array([7.0, -7.0]), 3.0).tolist() == [1, 2]
    assert ops.fmod(np.array([7.0, -7.0]), 3.0).tolist() == [1, -1]
    b = Tensor([3.0, -3.0], requires_grad=True)
    ops.remainder(np.array([7.0, 7.0]), b).backward(np.ones(2))
    assert b.grad is not None
    assert b.grad.tolist() == [-2, 3]


test_both_refuse_in_the_same_way = refused_by_both(
    ("dtype_mismatch", "floor(complex(randn(2), randn(2)))"),
    ("dtype_mismatch", "round(randn(2) > 0)"),
    ("domain_error", "randint(0, 5, [3]) // 0"),
    ("domain_error", "randint(0, 5, [3]) % 0"),
    ("domain_error", "fmod(randint(0, 5, [3]), 0)"),
)
