"""What the backward of a `Function` returns."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from gradcheck.engines.implementation.backward_interception import intercept_backward
from gradcheck.engines.implementation.code_error import CodeError


def _function(*returned: Any, name: str = "backward") -> Any:
    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
            return x @ w

    def backward(ctx: Any, g: Any) -> Any:
        return returned if len(returned) != 1 else returned[0]

    setattr(Product, name, staticmethod(backward))
    return Product


def _asked(function: Any) -> dict[int, tuple[int, ...]]:
    x, w = torch.ones(4, 3, requires_grad=True), torch.ones(3, 2, requires_grad=True)
    kept: dict[int, tuple[int, ...]] = {}
    y = function.apply(x, w)
    known = function.backward, function.vjp
    with intercept_backward(
        function, lambda: [x, w], lambda place, gradient: kept.update({place: tuple(gradient.shape)})
    ):
        y.sum().backward()
    assert (function.backward, function.vjp) == known
    assert x.grad is None or x.grad.shape == x.shape
    return kept


@pytest.mark.parametrize("name", ["backward", "vjp"])
def test_what_torch_would_refuse_is_kept(name: str) -> None:
    assert _asked(_function(torch.ones(3, 2), torch.ones(4, 3), name=name)) == {0: (3, 2), 1: (4, 3)}


@pytest.mark.parametrize("more", [(), (None, None)])
def test_what_it_takes_goes_through(more: tuple[Any, ...]) -> None:
    assert _asked(_function(torch.ones(7, 4, 3), None, *more)) == {}


@pytest.mark.parametrize("returned", [(torch.ones(4, 3),), (None, torch.ones(4, 3), torch.ones(3, 2))])
def test_another_number_of_gradients_is_a_mistake(returned: Any) -> None:
    with pytest.raises(CodeError, match=r"backward returned \d gradients? for 2 arguments"):
        _asked(_function(*returned))
