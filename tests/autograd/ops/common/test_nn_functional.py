"""Helpers for `torch.nn.functional`: rounding, reductions, checks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcheck.autograd import TABLE, Tensor
from gradcheck.autograd.ops.common.nn_functional import (
    count_broadcast_elements,
    nn_functional_op,
    reduce_loss,
    require_one_float_dtype,
    require_same_shape,
)
from gradcheck.errors import ArgumentError, DtypeMismatch, ShapeMismatch


def test_half_precision_is_computed_in_single_and_rounded_once() -> None:
    @nn_functional_op()
    def of_this_test(input: Any, *, scale: Any = None) -> Any:
        """Twice rounded this would be zero."""
        assert input.dtype == np.float32
        return (input + 2048) - 2048

    TABLE.pop("of_this_test")
    x = Tensor(np.array([0.5], np.float16), requires_grad=True)
    found = of_this_test(x, scale=x)
    assert (found.dtype, found.tolist()) == (np.float16, [0.5])
    found.backward(np.ones(1))
    assert x.grad is not None
    assert x.grad.dtype == np.float16


def test_the_counterpart_is_torchs_function_of_that_name_unless_said() -> None:
    assert TABLE["mse_loss"].torch == "nn.functional.mse_loss"
    assert TABLE["conv1d"].torch == "conv1d"
    assert not TABLE["mse_loss"].method


def test_reductions() -> None:
    loss = np.array([1.0, 3.0])
    assert (reduce_loss(loss, "none") is loss, reduce_loss(loss, "sum"), reduce_loss(loss, "mean")) == (True, 4, 2)
    with pytest.raises(ArgumentError, match="'avg' is no reduction"):
        reduce_loss(loss, "avg")


def test_checks_name_the_op_and_what_they_found() -> None:
    one, other = np.ones((2, 3)), np.ones(3, np.float32)
    with pytest.raises(ShapeMismatch, match=r"kl: the target has shape \[3\], the input \[2, 3\]"):
        require_same_shape("kl", one, other, "target")
    with pytest.raises(DtypeMismatch, match=r"kl: .* float32 and float64"):
        require_one_float_dtype("kl", one, None, other)
    with pytest.raises(DtypeMismatch, match="kl takes floating tensors"):
        require_one_float_dtype("kl", np.ones(2, np.int64))


def test_elements_of_what_is_broadcast_together() -> None:
    assert count_broadcast_elements(np.ones((2, 1)), np.ones(3), "mean", None) == 6
