"""GELU in one form with the derivative of another."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from gradcheck.testing import check_function

_X = np.array([0.4, -1.1, 0.9, 1.7])


def _function(forward: Any, form: Any) -> Any:
    class Gelu(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            ctx.save_for_backward(x)
            return forward(x)

        @staticmethod
        def backward(ctx: Any, g: torch.Tensor) -> Any:
            with torch.enable_grad():
                x = ctx.saved_tensors[0].detach().requires_grad_()
                return torch.autograd.grad(form(x), x, g)

    return Gelu.apply


def _exact(x: torch.Tensor) -> torch.Tensor:
    return 0.5 * x * (1 + torch.erf(x / math.sqrt(2)))


def _tanh(x: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.gelu(x, approximate="tanh")


@pytest.mark.parametrize(
    ("forward", "form", "cause"),
    [
        (_exact, _tanh, r"of gelu\(x, approximate='tanh'\), where that of gelu\(x\) belongs"),
        (_tanh, torch.nn.functional.gelu, r"of gelu\(x\), where that of gelu\(x, approximate='tanh'\) belongs"),
        (
            torch.nn.functional.gelu,
            lambda x: x * torch.sigmoid(1.702 * x),
            r"of x \* sigmoid\(1.702 \* x\), where that of gelu\(x\)",
        ),
    ],
)
def test_the_derivative_of_another_form_is_named(forward: Any, form: Any, cause: str) -> None:
    with pytest.raises(AssertionError, match=f"cause: computed as the derivative {cause}"):
        check_function(_function(forward, form), x=_X, choices={"order": 1})


def test_another_mistake_is_not_told_as_one() -> None:
    with pytest.raises(AssertionError) as caught:
        check_function(
            _function(torch.nn.functional.gelu, lambda x: torch.nn.functional.gelu(x) + 0.01 * torch.sin(3 * x)),
            x=_X,
            choices={"order": 1},
        )
    assert "derivative of" not in str(caught.value)
