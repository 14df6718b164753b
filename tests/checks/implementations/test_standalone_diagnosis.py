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


def unit_rows(x: Any) -> Any:
    length = np.sqrt((x * x).sum(1, keepdims=True))
    return x / length, x / length


def not_divided_by_length(g: Any, y: Any) -> Any:
    return g - y * (g * y).sum(1, keepdims=True)


def residual(x: Any, w: Any) -> Any:
    a = np.tanh(x @ w)
    return x + a, (x, w, a)


def without_residual(g: Any, cache: Any) -> Any:
    x, w, a = cache
    d = g * (1 - a * a)
    return d @ w.T, x.T @ d


def squares(x: Any, w: Any) -> Any:
    return x * x * w, (x, w)


def doubling_in_place(g: Any, cache: Any) -> Any:
    x, w = cache
    x *= 2
    return x * w * g, x * x * g


def shifted(x: Any, b: Any, beta: Any) -> Any:
    t = np.tanh(x + b)
    return 2 * t + beta, t


def same_for_both(g: Any, t: Any) -> Any:
    return 2 * g * (1 - t * t), g.sum(0), g.sum(0)


@pytest.mark.parametrize(
    ("code", "inputs", "cause"),
    [
        ((TanhOfInput.apply, None), {"x": (4, 3)}, "computed as x where y belongs"),
        ((Uncentred.apply, None), {"x": (4, 3)}, "softmax without its centring term"),
        ((Transposed.apply, None), {"a": (4, 4), "b": (4, 4)}, "second tensor is transposed"),
        ((scaled, scaled_backward), {"x": (4, 3)}, "off by the constant factor 3"),
        ((unit_rows, not_divided_by_length), {"x": (4, 3)}, "keepdim=True) * y) / sqrt("),
        (
            (residual, without_residual),
            {"x": (4, 3), "w": (3, 3)},
            "the path through add at `y` (use 1 of 2) is dropped",
        ),
        ((squares, doubling_in_place), {"x": (4, 3), "w": (4, 3)}, "cause: squares changes its argument x in place"),
    ],
)
def test_causes_are_named_as_with_a_specification(code: Any, inputs: dict[str, Any], cause: str) -> None:
    with pytest.raises(AssertionError) as raised:
        check_function(*code, inputs=inputs)
    report = " ".join(str(raised.value).split())
    assert cause in report
    total = 16 if "a" in inputs else 12
    assert f"{total} of {total} elements differ" in report


def test_a_gradient_of_another_argument_is_named() -> None:
    with pytest.raises(AssertionError, match="mixed up: this is the gradient of beta"):
        check_function(shifted, same_for_both, x=(4, 3), b=(3,), beta=(3,))


def untraced_factor(x: Any) -> Any:
    return x * np.asarray(x).copy(), x


def wrong_square(g: Any, x: Any) -> Any:
    return 5 * g * x


def test_a_forward_that_is_not_traced_whole_is_compared_with_differences() -> None:
    with pytest.raises(AssertionError, match=r"off by the constant factor 2\.5"):
        check_function(untraced_factor, wrong_square, x=(4, 3))
