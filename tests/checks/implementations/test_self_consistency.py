"""Code without a specification."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from gradcheck.testing import check_function
from tests.engines.implementation import functions


@pytest.mark.parametrize("function", [functions.Tanh.apply, torch.relu, functions.OnlyOnce.apply])
def test_right_code_passes(function: Any) -> None:
    assert check_function(function, x=(3, 2)).exit_code == 0


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (functions.WrongSign.apply, "gradient of x: WrongSign.apply differs from its own forward"),
        (functions.Raises.apply, "no such thing"),
        (functions.ChangesIncoming.apply, "changes its incoming gradient in place"),
        (functions.Remembers.apply, "called again between"),
        (functions.SecondOrderLost.apply, "second-order gradient"),
    ],
)
def test_wrong_code_fails(function: Any, words: str) -> None:
    with pytest.raises(AssertionError) as raised:
        check_function(function, x=(3, 2))
    assert words in " ".join(str(raised.value).split())


def test_pairs_are_held_to_differences() -> None:
    check_function(functions.sine_forward, functions.sine_backward, x=(3, 2))
    with pytest.raises(AssertionError, match="differences"):
        check_function(functions.sine_forward, lambda g, x: g * np.sin(x), x=(3, 2))
    with pytest.raises(AssertionError, match="shape"):
        check_function(functions.affine_forward, functions.not_summed, x=(3, 2), w=(2, 4), b=(4,))


def test_at_a_kink_what_lies_between_the_sides_is_right() -> None:
    x = np.array([0.0, 1.0, -1.0])
    check_function(np.abs, lambda g, x: g * np.where(x == 0, 0.3, np.sign(x)), x=x)
    with pytest.raises(AssertionError):
        check_function(np.abs, lambda g, x: g * np.where(x == 0, 2.0, np.sign(x)), x=x)


def test_a_pair_is_called_by_its_forwards_name() -> None:
    def twice(x: np.ndarray) -> np.ndarray:
        return 2 * x

    def wrong(incoming: np.ndarray, x: np.ndarray) -> np.ndarray:
        return incoming

    with pytest.raises(AssertionError, match="gradient of x: twice differs"):
        check_function((twice, wrong), x=np.array([1.0, 2.0]), spec="2 * x")


def test_a_gradient_known_to_be_wrong_is_not_asked_at_every_point() -> None:
    calls = []

    def forward(x: Any, w: Any, v: Any) -> Any:
        calls.append(1)
        return x @ w @ v

    def doubled(g: Any, x: Any, w: Any, v: Any) -> Any:
        return 2 * (g @ (w @ v).T), 2 * (x.T @ g @ v.T), 2 * ((x @ w).T @ g)

    with pytest.raises(AssertionError, match="off by the constant factor 2"):
        check_function(forward, doubled, x=(4, 6), w=(6, 6), v=(6, 5))
    assert len(calls) < 6000  # 9,500 if all points are asked


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
            "the path through add at `y` (use 2 of 2) is dropped",
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
