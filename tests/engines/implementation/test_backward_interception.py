"""What the backward of a `Function` returns."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from gradcheck.engines.implementation.backward_interception import ReturnedGradient, intercept_backward
from gradcheck.engines.tensor_class.user_code_guard import CodeError


def _function(*returned: Any, name: str = "backward") -> Any:
    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
            return x @ w

    def backward(ctx: Any, g: Any) -> Any:
        return returned if len(returned) != 1 else returned[0]

    setattr(Product, name, staticmethod(backward))
    return Product


def _kept(function: Any) -> list[ReturnedGradient]:
    x, w = torch.ones(4, 3, requires_grad=True), torch.ones(3, 2, requires_grad=True)
    kept: list[ReturnedGradient] = []
    y = function.apply(x, w)
    known = torch.autograd.function.BackwardCFunction.apply
    with intercept_backward(kept.append):
        y.sum().backward()
    assert torch.autograd.function.BackwardCFunction.apply is known
    assert x.grad is None or x.grad.shape == x.shape
    return kept


@pytest.mark.parametrize("name", ["backward", "vjp"])
def test_what_torch_would_refuse_is_kept(name: str) -> None:
    kept = _kept(_function(torch.ones(3, 2), torch.ones(4, 3), name=name))
    assert [(one.name, tuple(one.gradient.shape), one.shape, one.fits) for one in kept] == [
        ("x", (3, 2), (4, 3), False),
        ("w", (4, 3), (3, 2), False),
    ]
    assert str(kept[0].does_not_fit()) == "the backward of Product returned shape [3, 2] for x of shape [4, 3]"


@pytest.mark.parametrize("more", [(), (None, None)])
def test_what_torch_sums_is_kept_and_goes_through(more: tuple[Any, ...]) -> None:
    (one,) = _kept(_function(torch.ones(7, 4, 3), None, *more))
    assert one.fits
    assert one.summed("x")["axes"] == (0,)


def test_what_has_the_right_shape_is_not_kept() -> None:
    assert _kept(_function(torch.ones(4, 3), torch.ones(3, 2))) == []


def test_the_names_do_not_count_the_context() -> None:
    class Apart(torch.autograd.Function):
        @staticmethod
        def forward(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
            return x @ w

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None: ...

        @staticmethod
        def backward(ctx: Any, g: torch.Tensor) -> Any:
            return None, g

    (one,) = _kept(Apart)
    assert (one.place, one.name) == (1, "w")


@pytest.mark.parametrize("returned", [(torch.ones(4, 3),), (None, torch.ones(4, 3), torch.ones(3, 2))])
def test_another_number_of_gradients_is_a_mistake(returned: Any) -> None:
    with pytest.raises(CodeError, match=r"backward returned \d gradients? for 2 arguments"):
        _kept(_function(*returned))
