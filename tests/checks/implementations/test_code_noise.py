"""How much rounding there is in code, measured."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
import torch

from gradcheck.checks.implementations.code_noise import largest_difference
from gradcheck.checks.scheduling.run import run
from gradcheck.engines.base import Evaluation, State
from gradcheck.testing import check_function
from tests.engines.implementation import functions
from tests.engines.implementation.build import TANH, with_code


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


def _evaluation(*numbers: float) -> Evaluation:
    return Evaluation("mine", (State({}, {"x": np.array(numbers)}, None),))


@pytest.mark.parametrize("as_a_whole", [True, False])
def test_how_far_two_answers_are_apart(as_a_whole: bool) -> None:
    assert largest_difference(_evaluation(1.0, np.nan), _evaluation(1.0, np.nan), as_a_whole) == 0
    size = largest_difference(_evaluation(8.0, 2.0), _evaluation(8.0, 1.0), as_a_whole)
    assert size == (0.125 if as_a_whole else 0.5)
    assert largest_difference(_evaluation(1.0), _evaluation(1.0, 2.0)) == np.inf


def test_what_is_wrong_by_chance_is_told_as_varying() -> None:
    (found,) = run(with_code(TANH, functions.Chancy.apply), allow_code=True).cases
    assert found.status == "failed"
    kinds = {c.mismatch.kind for c in found.comparisons if c.status == "failed" and c.mismatch}
    assert kinds == {"not_the_same_again"}


def test_a_layer_that_keeps_its_own_cache_is_asked_one_call_at_a_time() -> None:
    layer = functions.Summing()
    case = with_code(TANH.replace("tanh(x)", "2 * x.sum(0)"), (layer.forward, layer.backward))
    (found,) = run(case, allow_code=True).cases
    assert found.status == "passed"
    assert any(c.has_note("keeps_state") for c in found.comparisons)


class _Dropout(torch.autograd.Function):
    """Dropout that keeps its mask."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        mask = (torch.rand_like(x) > 0.5).to(x.dtype) * 2
        ctx.save_for_backward(mask)
        return x * mask

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.saved_tensors[0]


class _OtherMask(_Dropout):
    """The gradient of another draw."""

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * (torch.rand_like(g) > 0.5) * 2


class _Unscaled(_Dropout):
    """The gradient without the factor of the mask."""

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * (ctx.saved_tensors[0] > 0)


def _noisy(x: Any) -> Any:
    return x * float(np.random.randn()) + random.random() * x.sum()


@pytest.mark.parametrize(
    "function", [torch.nn.Dropout(0.3), lambda a: torch.nn.functional.dropout(a, 0.5), _Dropout.apply, _noisy]
)
def test_code_that_draws_from_global_generators_passes(function: Any) -> None:
    x = torch.randn(4, 3, dtype=torch.float64, requires_grad=True)
    before = torch.get_rng_state()
    check_function(function, x=x)
    check_function(function, x=(4, 3))
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("function", [_OtherMask.apply, _Unscaled.apply])
def test_wrong_code_that_draws_fails(function: Any) -> None:
    with pytest.raises(AssertionError, match=r"gradient of x.*differs"):
        check_function(function, x=(4, 3))


@pytest.mark.parametrize("spec", [None, "x"])
def test_nothing_but_variation_is_concluded_about_code_that_varies(spec: str | None) -> None:
    numbers = iter(np.random.default_rng(0).random(100_000).tolist())
    with pytest.raises(AssertionError) as raised:
        check_function(lambda x: x * next(numbers), x=(3,), spec=spec)
    text = " ".join(str(raised.value).split())
    assert "the function itself varies from call to call" in text
    assert not {"cause", "also", "gradient"} & set(text.replace(":", "").split())
