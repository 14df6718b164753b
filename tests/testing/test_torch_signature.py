"""`gradcheck` and `gradgradcheck` mean what torch's mean."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
import torch

from gradcheck.errors import UsageError
from gradcheck.testing import gradcheck, gradgradcheck
from gradcheck.testing.torch_signature import TorchOptions
from tests.engines.implementation import functions

F64 = torch.float64


def _x(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=F64, generator=torch.Generator().manual_seed(1)).requires_grad_()


class Cube(torch.autograd.Function):
    """A backward that is right, and whose own gradient is not."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return 3 * ctx.saved_tensors[0].detach() ** 2 * g


class TwoResults(torch.autograd.Function):
    """A backward that needs the incoming gradients of both results."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.set_materialize_grads(False)
        return x * 2, x * 3

    @staticmethod
    def backward(ctx: Any, g: Any, h: Any) -> Any:
        return 2 * g + 3 * h


class WrongTangent(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return 2 * g

    @staticmethod
    def jvp(ctx: Any, t: Any) -> Any:
        return 3 * t


def test_all_parameters_of_torch_are_taken() -> None:
    torchs = set(inspect.signature(torch.autograd.gradcheck).parameters) - {"func", "inputs", "raise_exception"}
    assert torchs == set(TorchOptions.__dataclass_fields__)
    assert gradcheck(torch.sin, _x(3), eps=1e-6, atol=1e-4, rtol=1e-3, fast_mode=True, nondet_tol=0.0, masked=None)
    second = set(inspect.signature(torch.autograd.gradgradcheck).parameters) - torchs - {"func", "inputs"}
    own = {"grad_outputs", "gen_non_contig_grad_outputs", "check_fwd_over_rev", "check_rev_over_rev", "raise_exception"}
    assert second == own
    assert gradgradcheck(torch.sin, _x(3), atol=1e-4, gen_non_contig_grad_outputs=True, check_grad_dtypes=True)
    with pytest.raises(TypeError, match="nonsense"):
        gradcheck(torch.sin, _x(3), nonsense=1)
    with pytest.raises(UsageError, match="check_forward_ad"):
        gradcheck(torch.sin, _x(3), check_backward_ad=False)


def test_failures_are_torchs_or_false() -> None:
    with pytest.raises(AssertionError, match="gradient of x0") as raised:
        gradcheck(functions.WrongSign.apply, _x(3))
    assert isinstance(raised.value, RuntimeError)
    assert gradcheck(functions.WrongSign.apply, _x(3), raise_exception=False) is False
    assert gradgradcheck(Cube.apply, _x(3), raise_exception=False) is False
    with pytest.raises(ZeroDivisionError):
        gradcheck(lambda x: 1 / 0, _x(3), raise_exception=False)


class Approximate(torch.autograd.Function):
    """A backward as exact as an iterative solver's."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x.sin()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.saved_tensors[0].cos() * (1 + 1e-7)


@pytest.mark.parametrize("spec", [None, "sin(x0)"])
def test_tolerances_allow_more_and_never_less(spec: str | None) -> None:
    for looser in ({"rtol": 1e-5}, {"atol": 1e-5}, {"rtol": 0.0, "atol": 1e-5}):
        assert gradcheck(Approximate.apply, _x(3), spec=spec, **looser)
        with pytest.raises(AssertionError):
            gradcheck(functions.WrongSign.apply, _x(3), **looser)
    for tighter in ({}, {"rtol": 1e-20}, {"rtol": 1e-20, "atol": 1e-20}):
        with pytest.raises(AssertionError):
            gradcheck(Approximate.apply, _x(3), spec=spec, **tighter)
        assert gradcheck(torch.sin, _x(3), spec=spec, **tighter)


def test_gradcheck_is_of_first_and_gradgradcheck_of_second_order() -> None:
    assert gradcheck(Cube.apply, _x(3))
    with pytest.raises(AssertionError, match=r"(?s)gradient of x0: no gradient .*gradient of Cube\.apply"):
        gradgradcheck(Cube.apply, _x(3))
    x, w = _x(2, 3), _x(3, 2)
    assert gradgradcheck(lambda x, w, a: (a * (x @ w).tanh(), None), (x, w, 0.5))
    assert gradgradcheck(torch.exp, x, torch.ones_like(x).requires_grad_())
    with pytest.raises(AssertionError, match="twice"):
        gradgradcheck(functions.OnlyOnce.apply, _x(3))


def test_undefined_gradients_are_tried_unless_told_otherwise() -> None:
    with pytest.raises(AssertionError, match="NoneType"):
        gradcheck(TwoResults.apply, _x(3))
    assert gradcheck(TwoResults.apply, _x(3), check_undefined_grad=False)


def test_nondeterminism_within_the_tolerance_passes() -> None:
    noise = iter(np.random.default_rng(0).standard_normal(100_000).tolist())

    def varies(x: torch.Tensor) -> torch.Tensor:
        return x * (1 + 1e-11 * next(noise))

    with pytest.raises(AssertionError, match="varies from call to call"):
        gradcheck(lambda x: 1e3 * varies(x) - 1e3 * x + x.sin() * 1e-3, _x(3))
    assert gradcheck(varies, _x(3), nondet_tol=1e-3)
    with pytest.raises(AssertionError):
        gradcheck(lambda x: functions.WrongSign.apply(varies(x)), _x(3), nondet_tol=1e-3)


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")  # torch's, under vmap
def test_forward_mode_and_batches_are_checked_on_request() -> None:
    assert gradcheck(torch.sin, _x(3), check_forward_ad=True, check_batched_grad=True, check_batched_forward_grad=True)
    assert gradcheck(torch.sin, _x(3), check_forward_ad=True, check_backward_ad=False)
    with pytest.raises(AssertionError, match="forward mode"):
        gradcheck(WrongTangent.apply, _x(3), check_forward_ad=True, check_backward_ad=False)


class Scaled(torch.nn.Module):
    def __init__(self, scale: Any) -> None:
        super().__init__()
        self.scale = scale

    def forward(self, x: Any) -> Any:
        return torch.sin(dict(self.named_parameters())["scale"] * x)


@pytest.mark.parametrize("check", [gradcheck, gradgradcheck])
def test_a_parameter_stays_one(check: Any) -> None:
    scale = torch.nn.Parameter(_x(3).detach())
    assert check(lambda scale, x: Scaled(scale)(x), (scale, _x(3) + 1))
    assert check(lambda given, x: Scaled(given["scale"])(x), ({"scale": scale}, _x(3) + 1))
    with pytest.raises(AssertionError, match="gradient"):
        check(lambda scale, x: Cube.apply(functions.WrongSign.apply(Scaled(scale)(x))), (scale, _x(3) + 1))


class Noisy(torch.autograd.Function):
    """A backward with noise from torch's generator, which starts anew."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * (1 + 1e-6 * torch.rand_like(g))


@pytest.mark.parametrize("seed", range(4))
def test_nondet_tol_excuses_noise_in_a_backward(seed: int) -> None:
    torch.manual_seed(seed)
    assert gradcheck(Noisy.apply, _x(3), nondet_tol=1e-5)
    assert not gradcheck(Noisy.apply, _x(3), nondet_tol=1e-8, raise_exception=False)


class Off(torch.autograd.Function):
    """A backward that is the same each time, and wrong by 0.01."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g + 0.01


@pytest.mark.parametrize("function", [Off.apply, lambda x: Off.apply(Noisy.apply(x))])
def test_nondet_tol_excuses_no_difference_from_the_right_gradient(function: Any) -> None:
    assert not gradcheck(function, _x(3), nondet_tol=0.1, raise_exception=False)


class Nowhere(torch.autograd.Function):
    """A function without a number."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return torch.log(-x * x - 1)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * float("nan")


@pytest.mark.parametrize(
    ("function", "size"), [(Nowhere.apply, 3), (lambda x: x * x + float("inf"), 3), (functions.WrongSign.apply, 0)]
)
def test_a_function_without_a_number_to_compare_fails(function: Any, size: int) -> None:
    with pytest.raises(AssertionError, match="nothing is compared"):
        gradcheck(function, _x(size))
