"""Code that does not give the same where it is asked again."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
import torch

from gradcheck.checks.implementations.nondeterminism import largest_difference
from gradcheck.checks.scheduling.run import run
from gradcheck.engines.base import Evaluation, State
from gradcheck.testing import check_function
from tests.engines.implementation import functions
from tests.engines.implementation.build import TANH, with_code


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
