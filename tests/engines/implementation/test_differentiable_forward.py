"""Forwards where torch records them."""

from __future__ import annotations

from typing import Any

import torch

from gradcheck.engines.implementation.code_kinds import code_of
from gradcheck.engines.implementation.differentiable_forward import differentiable_forward
from tests.engines.implementation import functions


def gradient(function: Any, *arguments: torch.Tensor) -> torch.Tensor:
    forward = differentiable_forward(code_of(function, None, "f"))
    assert forward is not None
    assert forward.call is not None
    with forward.around():
        (found,) = torch.autograd.grad(forward.call(*arguments).sum(), arguments[0])
    return found


def test_torch_differentiates_the_forward_of_a_function() -> None:
    x = torch.tensor([0.5], requires_grad=True)
    right = 1 - torch.tanh(x) ** 2
    assert torch.allclose(gradient(functions.WrongSign.apply, x), right)
    assert torch.allclose(gradient(functions.Apart.apply, x, x.detach()), x)


def test_also_inside_of_another_function() -> None:
    x = torch.tensor([0.5], requires_grad=True)
    found = gradient(lambda x: 3 * functions.WrongSign.apply(x), x)
    assert torch.allclose(found, 3 * (1 - torch.tanh(x) ** 2))
    assert torch.allclose(torch.autograd.grad(functions.WrongSign.apply(x), x)[0], torch.tanh(x) ** 2 - 1)  # restored


def test_other_libraries_have_none() -> None:
    assert differentiable_forward(code_of(functions.square, functions.square_backward, "f")) is None
