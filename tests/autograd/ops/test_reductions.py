"""Reductions: zeros in products, degrees of freedom, errors."""

from __future__ import annotations

import numpy as np

from gradcheck import Tensor, ops
from tests.autograd.ops.both import agree, normal, refused_by_both


def test_zeros_in_a_product() -> None:
    """One zero leaves one slope of a product, two leave none."""
    values = np.arange(1.0, 71.0) / 35
    for zeros in ([3], [3, 40]):
        x = Tensor(values, requires_grad=True)
        x.data[zeros] = 0
        ops.prod(x).backward()
        assert x.grad is not None
        want = np.zeros(70)
        if len(zeros) == 1:
            want[zeros] = np.prod(np.delete(values, zeros))
        np.testing.assert_allclose(x.grad.data, want, rtol=1e-13)


def test_torchs_old_and_new_ways_to_say_how_many_degrees_of_freedom() -> None:
    x = normal(2, 5)
    np.testing.assert_allclose(ops.var(x, False), np.var(x))
    np.testing.assert_allclose(ops.var(x, 1, True), np.var(x, 1, ddof=1))
    np.testing.assert_allclose(ops.std(x, 1, correction=2), np.std(x, 1, ddof=2))


def test_the_gradient_of_a_deviation_of_zero_is_zero() -> None:
    agree("std(x, 1)", x=np.array([[1.0, 1.0], [1.0, 2.0]]))


def test_nan_counts_as_nothing() -> None:
    x = np.array([1.0, np.nan, 3.0])
    assert (ops.nansum(x), ops.nanmean(x)) == (4, 2)
    assert ops.count_nonzero(x) == 3


test_both_refuse_in_the_same_way = refused_by_both(
    ("dtype_mismatch", "mean(randint(0, 5, [3]))"),
    ("dtype_mismatch", "mean(randn(2) > 0)"),
    ("dtype_mismatch", "var(randint(0, 5, [3]))"),
    ("dtype_mismatch", "std(randint(0, 5, [3]))"),
    ("index_out_of_range", "sum(randn(2, 3), 2)"),
    ("index_out_of_range", "sum(randn(()), 1)"),
    ("index_out_of_range", "any(randn(2), 1)"),
    ("index_out_of_range", "count_nonzero(randn(2), 1)"),
    ("shape_mismatch", "sum(randn(2, 3), (0, 0))"),
    ("bad_argument", "prod(randn(2, 3), (0, 1))"),
    ("bad_argument", "sum(randn(2), dim='x')"),
    ("bad_argument", "sum(randn(2), 1.5)"),
)
