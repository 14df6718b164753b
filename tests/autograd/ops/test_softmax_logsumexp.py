"""Softmax and its variants: large scores, masks, dtypes, errors."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from gradcheck import Tensor, ops
from gradcheck.errors import DtypeMismatch, IndexOutOfRange
from tests.autograd.ops.both import agree_on_call, normal, refused, refused_as_by_torch

EXTREME = np.array([[1e4, -1e4, 3.0], [-1e4, -1e4 + 1, -1e4 + 2], [1e300, 0.0, -1e300]])


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "softmin"])
def test_it_is_stable_for_large_scores(name: str) -> None:
    assert np.isfinite(agree_on_call(name, EXTREME, dim=1)[:2]).all()


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_what_is_masked_by_minus_infinity_is_left_out(name: str) -> None:
    value = agree_on_call(name, np.array([[0.5, -np.inf, 1.5], [-np.inf, -np.inf, 0.0]]), 1)
    assert not np.isnan(value).any()


def test_a_row_of_minus_infinities_is_nan() -> None:
    assert np.isnan(agree_on_call("softmax", np.array([[-np.inf, -np.inf]]), 1)).all()


def test_in_another_dtype() -> None:
    agree_on_call("softmax", normal(2, 3).astype(np.float32), 1, rtol=1e-5)
    single = Tensor(normal(2, 3).astype(np.float16), requires_grad=True)
    wide = ops.softmax(single, 1, dtype=np.dtype(np.float32))
    assert wide.dtype == np.float32
    wide.backward(np.ones((2, 3)))
    assert single.grad is not None
    assert single.grad.dtype == np.float16


def test_half_precision_is_rounded_once() -> None:
    scores = normal(4, 50).astype(np.float16)
    want = torch.softmax(torch.tensor(scores).float(), 1).half().numpy()
    np.testing.assert_array_equal(ops.softmax(scores, 1), want)


def test_logsumexp_does_not_overflow_and_of_nothing_is_minus_infinity() -> None:
    assert ops.logsumexp(np.array([1000.0, 1000.0]), 0) == 1000 + np.log(2)
    assert ops.logsumexp(np.zeros(0), 0) == -np.inf


test_what_torch_refuses_is_refused_for_the_same_reason = refused_as_by_torch("softmax(x, 2)", "softmax(integers, 1)")


def test_a_dimension_that_is_not_there() -> None:
    assert refused("logsumexp(randn(2), 1)") == ("index_out_of_range", "index_out_of_range")


def test_errors_say_what_is_wrong() -> None:
    with pytest.raises(IndexOutOfRange, match="dimension 2"):
        ops.softmax(np.ones((2, 3)), 2)
    with pytest.raises(DtypeMismatch, match="floating tensors, not int64"):
        ops.softmax(np.ones((2, 3), np.int64), 1)
