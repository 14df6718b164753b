"""Activations: large arguments, constants, settings that are none."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck import Tensor, ops
from gradcheck.errors import ArgumentError
from tests.autograd.ops.both import agree, normal, refused_by_both


@pytest.mark.parametrize("name", ["sigmoid", "logsigmoid", "silu", "softplus", "mish", "elu", "selu", "gelu"])
def test_large_arguments_do_not_overflow(name: str) -> None:
    agree(f"{name}(x)", x=np.array([-1e4, -40.0, 0.0, 40.0, 1e4]))


def test_selu_keeps_mean_0_and_variance_1() -> None:
    """Of standard normal numbers; that is what its constants are for."""
    x = np.linspace(-12, 12, 200_001)
    weights = np.exp(-x * x / 2)
    activated = ops.selu(x)
    mean = np.sum(activated * weights) / np.sum(weights)
    assert mean == pytest.approx(0, abs=1e-9)
    assert np.sum(activated**2 * weights) / np.sum(weights) == pytest.approx(1, abs=1e-9)


def test_the_gradient_of_elu_at_large_arguments_can_be_differentiated_again() -> None:
    x = Tensor([1e4], requires_grad=True)
    y = ops.elu(x)
    y.backward(create_graph=True)
    assert x.grad is not None
    slope, x.grad = x.grad, None
    slope.backward()
    assert x.grad is None or not np.isnan(x.grad.data).any()


def test_gelu_is_exact_or_approximated() -> None:
    x = normal(5)
    np.testing.assert_allclose(ops.gelu(x), ops.gelu(x, approximate="tanh"), atol=1e-3)
    with pytest.raises(ArgumentError, match="'none' or 'tanh'"):
        ops.gelu(x, approximate="erf")


test_both_refuse_in_the_same_way = refused_by_both(
    ("dtype_mismatch", "relu(complex(randn(2), randn(2)))"),
    ("dtype_mismatch", "elu(randint(0, 5, [3]))"),
)
