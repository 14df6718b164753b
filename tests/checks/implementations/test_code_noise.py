"""How much rounding there is in code, measured."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from gradcheck.testing import check_function
from tests.engines.implementation import functions


def layer(backward: Any) -> Any:
    class Layer(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            out = torch.tanh(x)
            ctx.save_for_backward(x, out)
            return out

        @staticmethod
        def backward(ctx: Any, g: torch.Tensor) -> torch.Tensor:
            found: torch.Tensor = backward(g, *ctx.saved_tensors)
            return found

    return Layer.apply


def test_what_cancels_in_the_backward_alone_is_no_mistake() -> None:
    check_function(layer(lambda g, x, y: g * (1 - y * y)), x=np.array([17.5, -18.5, 20.0]))


@pytest.mark.parametrize("factor", [1.0 + 1e-8, 3.0])
def test_a_factor_is_one_where_it_is_far_beyond_rounding(factor: float) -> None:
    with pytest.raises(AssertionError):
        check_function(layer(lambda g, x, y: factor * g / torch.cosh(x) ** 2), x=np.array([0.5, -8.5, 2.0]))


def test_an_ill_conditioned_inverse_is_right_and_one_with_the_wrong_sign_is_not() -> None:
    n = np.arange(7)
    hilbert = 1 / (n[:, None] + n[None, :] + 1.0)

    class Inverse(torch.autograd.Function):
        sign = -1

        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            out = torch.linalg.inv(x)
            ctx.save_for_backward(out)
            return out

        @classmethod
        def backward(cls, ctx: Any, g: torch.Tensor) -> torch.Tensor:
            (out,) = ctx.saved_tensors
            return cls.sign * out.T @ g @ out.T

    class Wrong(Inverse):
        sign = 1

    check_function(Inverse.apply, x=hilbert)
    with pytest.raises(AssertionError, match="gradient of x"):
        check_function(Wrong.apply, x=hilbert)


def test_in_low_precision_what_rounding_explains_is_measured() -> None:
    x = torch.randn(4, 3, generator=torch.Generator().manual_seed(0)).to(torch.bfloat16)
    check_function(layer(lambda g, x, y: g * (1 - y * y)), x=x)
    with pytest.raises(AssertionError):
        check_function(layer(lambda g, x, y: g * (1 - y)), x=x)


def test_less_precision_inside_is_no_rounding() -> None:
    x, y = np.linspace(0.1, 2, 6).reshape(3, 2) / 3, np.linspace(1, 3, 6).reshape(3, 2) / 7
    with pytest.raises(AssertionError, match="float16"):
        check_function(functions.HalfInOne.apply, x=x, y=y)
    with pytest.raises(AssertionError, match="computes in less precision than float64"):
        check_function(functions.SingleInside.apply, x=x)
    assert check_function(functions.MaskInSingle.apply, x=x).exit_code == 0


def test_a_gradient_that_is_noise_alone_is_wrong() -> None:
    def noisy(g: torch.Tensor, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return g * (1 - y * y) + 1e18 * (torch.sin(x) ** 2 + torch.cos(x) ** 2 - 1)

    with pytest.raises(AssertionError, match="has no digit there"):
        check_function(layer(noisy), x=np.linspace(0.13, 2.7, 9))
