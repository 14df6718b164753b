"""Gradients of code held to differences, which must be sure of themselves before they contradict it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from gradcheck.engines.implementation.code_engine import CodeEngine
from gradcheck.testing import check_function


def test_near_and_at_kinks_steps_along_all_elements_decide_nothing() -> None:
    check_function(torch.relu, x=np.array([-1e-8, 1e-8, 1.0]))
    check_function(lambda x: torch.clamp(x, -1, 1), x=np.array([-1.0, 0.5, 1.0]))


def test_a_tie_that_gives_the_whole_to_each_adds_up_to_too_much() -> None:
    x = np.array([2.0, 2.0, 1.0])
    check_function(np.max, lambda g, x: g * (x == x.max()) / (x == x.max()).sum(), x=x)
    with pytest.raises(AssertionError, match="what the results change by"):
        check_function(np.max, lambda g, x: g * (x == x.max()), x=x)


def test_what_torch_and_the_code_agree_on_is_wrong_where_differences_say_so() -> None:
    def detached(x: torch.Tensor) -> torch.Tensor:
        return x.detach() * x

    with pytest.raises(AssertionError, match="differences"):
        check_function(detached, x=(3, 2))


def test_complex_pairs_are_held_to_differences_in_both_parts() -> None:
    x = np.array([1 + 2j, -0.5 + 0.3j])
    check_function(lambda x: x * x, lambda g, x: g * 2 * x.conj(), x=x)
    with pytest.raises(AssertionError, match="gradient of x"):
        check_function(lambda x: x * x, lambda g, x: g * 2 * x, x=x)


def test_a_gradient_that_does_not_arrive_differs_in_all_elements() -> None:
    x = np.arange(6.0).reshape(2, 3) + 1
    with pytest.raises(AssertionError, match=r"one was expected[\s\S]*6 of 6 elements differ, at .* none"):
        check_function(lambda x, y: x * y, lambda g, x, y: (g * y, None), x=x, y=x + 1)


def test_a_number_is_held_to_differences() -> None:
    check_function(np.sin, lambda g, x: g * np.cos(x), x=np.float64(0.3))
    with pytest.raises(AssertionError):
        check_function(np.sin, lambda g, x: g * np.sin(x), x=np.float64(0.3))


def test_one_wrong_element_among_many_is_seen() -> None:
    def backward(g: Any, x: Any) -> Any:
        found = g * 2 * x
        found[517] *= 1.01
        return found

    with pytest.raises(AssertionError):
        check_function(lambda x: x * x, backward, x=np.linspace(1, 2, 1000))


def test_ties_between_two_inputs_may_add_up_to_too_much() -> None:
    x, y = np.array([1.0, 2.0, 3.0]), np.array([1.0, 0.5, 4.0])
    halves = lambda g, x, y: (g * ((x > y) + 0.5 * (x == y)), g * ((y > x) + 0.5 * (x == y)))  # noqa: E731
    check_function(np.maximum, halves, x=x, y=y)
    with pytest.raises(AssertionError, match="x, y move together"):
        check_function(np.maximum, lambda g, x, y: (g * (x >= y), g * (y >= x)), x=x, y=y)


def test_no_number_at_a_kink_is_told_and_elsewhere_is_wrong() -> None:
    x = np.array([0.0, 1.5, -1.0])
    check_function(np.abs, lambda g, x: g * x / np.abs(x), x=x)
    with pytest.raises(AssertionError, match="nan"):
        check_function(lambda x: x**2, lambda g, x: 2 * g * x**2 / x, x=x)


def test_all_inputs_are_moved_at_once_where_torch_says_the_same(monkeypatch: Any) -> None:
    asked = []
    known = CodeEngine.values_alone
    monkeypatch.setattr(CodeEngine, "values_alone", lambda self, p: asked.append(p) or known(self, p))
    check_function(torch.mul, x=np.array([1.5, 0.5]), y=np.array([2.5, 1.0]))
    assert len(asked) < 150


class _Constant(torch.autograd.Function):
    """Its derivative is 0, and its gradient noise."""

    noise = 2.6e-19

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.shape = x.shape
        return (x - x).sum() + 1

    @classmethod
    def gradient(cls, ctx: Any, g: Any) -> Any:
        return (g * cls.noise).expand(ctx.shape)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return _Constant.gradient(ctx, g)


class _Sloped(_Constant):
    noise = 1e-12

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return _Sloped.gradient(ctx, g)


def test_noise_beside_zeros_is_rounding() -> None:
    x = np.linspace(0.5, 2, 4)
    check_function(_Constant.apply, x=x, choices={"order": 1})
    with pytest.raises(AssertionError, match="gradient of x"):
        check_function(_Sloped.apply, x=x, choices={"order": 1})


def _shifted_softmax(x: Any) -> Any:
    """Its epsilon makes the shift matter a little, which its gradient leaves out."""
    e = torch.exp(x - x.max().detach())
    return e / (e.sum() + 1e-8)


def _clipped(x: Any) -> Any:
    y = x * 3
    if y.requires_grad:
        y.register_hook(lambda g: g.clamp(-0.1, 0.1))
    return y * y


def test_differences_contradict_recorded_code_only_if_they_are_large() -> None:
    check_function(_shifted_softmax, x=np.linspace(-1, 1, 4))
    with pytest.raises(AssertionError, match="gradient of x"):
        check_function(_clipped, x=np.linspace(-1, 1, 4))


def _square(is_wrong_beyond_block: bool, calls: list[int]) -> Any:
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            calls.append(1)
            ctx.save_for_backward(x)
            return torch.from_numpy(x.numpy(force=True) ** 2)

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            found = 2 * x * g
            if is_wrong_beyond_block:
                found[..., 64:] = 0
            return found

    return Square.apply


def test_few_directions_decide_at_drawn_points_in_low_precision() -> None:
    calls: list[int] = []
    float32 = {"dtypes": ["float32"]}
    check_function(_square(False, calls), x=(4, 3), choices=float32)
    assert len(calls) < 1500
    with pytest.raises(AssertionError, match="gradient of x"):
        check_function(_square(True, []), x=(4, 3), choices=float32)


class _SingleTanh(torch.autograd.Function):
    """In single precision, and not recorded by torch."""

    @staticmethod
    def forward(ctx: Any, x: Any, factor: Any) -> Any:
        y = torch.from_numpy(np.tanh(x.detach().numpy()))
        ctx.save_for_backward(y, factor)
        return y

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, g: Any) -> Any:
        y, factor = ctx.saved_tensors
        return factor * g * (1 - y * y), None


@pytest.mark.parametrize("seed", range(4))
def test_in_single_precision_a_hundredth_is_found(seed: int) -> None:
    x = torch.randn(4, 3, generator=torch.Generator().manual_seed(seed), requires_grad=True)
    check_function(lambda x: _SingleTanh.apply(x, torch.tensor(1.0)), x=x)
    with pytest.raises(AssertionError, match="gradient of x"):
        check_function(lambda x: _SingleTanh.apply(x, torch.tensor(1.01)), x=x)


class _Product(torch.autograd.Function):
    """Five per cent too large for one argument."""

    @staticmethod
    def forward(ctx: Any, x: Any, w: Any) -> Any:
        ctx.save_for_backward(x, w)
        return x * w

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, w = ctx.saved_tensors
        return 1.05 * g * w, g * x


@pytest.mark.parametrize("seed", range(3))
def test_wide_error_bars_outweigh_no_gradient_of_the_forward(seed: int) -> None:
    """In half precision differences are within a tenth of anything."""
    generator = torch.Generator().manual_seed(seed)
    x, w = (torch.randn(3, 4, generator=generator).half().requires_grad_() for _ in range(2))
    with pytest.raises(AssertionError, match=r"gradient of x: .* differs from its own forward"):
        check_function(_Product.apply, x=x, w=w)


def test_cancellation_beside_a_tiny_input_is_rounding() -> None:
    def forward(x: Any) -> Any:
        return np.sin(x) / x, x

    def backward(g: Any, x: Any) -> Any:
        return g * (np.cos(x) - np.sin(x) / x) / x

    assert check_function(forward, backward, x=np.array([1.1e-8, 2.0, 0.5])).exit_code == 0


def test_complex_gradients_are_compared_in_all_elements() -> None:
    x = torch.tensor([1 + 2j, 3 - 1j, 0.5j], dtype=torch.complex128)
    with pytest.raises(AssertionError, match="3 of 3 elements differ"):
        check_function(lambda z: z * z, lambda g, z: z * g, x=x.numpy())


class _Root(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return (x**4).sqrt()

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, g: torch.Tensor) -> torch.Tensor:
        (x,) = ctx.saved_tensors
        return 2 * g * x**3 / (x**4).sqrt()


def test_where_torch_has_no_number_either_only_given_inputs_fail() -> None:
    assert check_function(_Root.apply, x=(5,)).exit_code == 0
    with pytest.raises(AssertionError, match="gradient of x"):
        check_function(_Root.apply, x=np.array([0.0, 1.0]))
