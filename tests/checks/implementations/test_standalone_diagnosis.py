"""Causes of wrong code without a specification."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from gradcheck.testing import check_function


class TanhOfInput(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return torch.tanh(x)

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> Any:
        (y,) = ctx.saved_tensors
        return g * (1 - y * y)


class Uncentred(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        y = torch.softmax(x, -1)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> Any:
        return ctx.saved_tensors[0] * g


class Transposed(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(a, b)
        return a @ b

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> Any:
        a, b = ctx.saved_tensors
        return g @ b, a.t() @ g


def scaled(x: Any) -> Any:
    return np.sin(x), x


def scaled_backward(g: Any, x: Any) -> Any:
    return 3 * g * np.cos(x)


@pytest.mark.parametrize(
    ("code", "inputs", "cause"),
    [
        ((TanhOfInput.apply, None), {"x": (4, 3)}, "computed as x where y belongs"),
        ((Uncentred.apply, None), {"x": (4, 3)}, "softmax without its centring term"),
        ((Transposed.apply, None), {"a": (4, 4), "b": (4, 4)}, "second tensor is transposed"),
        ((scaled, scaled_backward), {"x": (4, 3)}, "off by the constant factor 3"),
    ],
)
def test_causes_are_named_as_with_a_specification(code: Any, inputs: dict[str, Any], cause: str) -> None:
    with pytest.raises(AssertionError) as raised:
        check_function(*code, inputs=inputs)
    report = " ".join(str(raised.value).split())
    assert cause in report
    total = 16 if "a" in inputs else 12
    assert f"{total} of {total} elements differ" in report
