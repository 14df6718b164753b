"""The gradients of a function, as a function that can be checked itself."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import torch

from gradcheck.engines.implementation.call_arguments import leaves_of
from gradcheck.engines.implementation.code_loading import name_of


def random_incoming(function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[torch.Tensor, ...]:
    """Return a random incoming gradient for each differentiable result."""
    results = _differentiable_results(function(*arguments))
    return tuple(torch.randn_like(one.detach()).requires_grad_() for one in results)


def first_gradients(function: Callable[..., Any], arguments: tuple[Any, ...], count: int) -> Callable[..., Any]:
    """Return the gradients as a function of arguments and incoming gradients.

    The last `count` arguments are the incoming gradients. Gradients that do not arrive are left out, as by torch's
    `gradgradcheck`."""
    asks = [isinstance(one, torch.Tensor) and one.requires_grad for one in arguments]

    @wraps(function)
    def gradients(*values: Any) -> tuple[torch.Tensor, ...]:
        with torch.enable_grad():
            given = [_asking(one) if ask else one for one, ask in zip(values, asks, strict=False)]
            wanted = [one for one, ask in zip(given, asks, strict=True) if ask]
            results = _differentiable_results(function(*given))
            found = torch.autograd.grad(results, wanted, values[-count:], create_graph=True, allow_unused=True)
        return tuple(one for one in found if one is not None)

    gradients.__qualname__ = f"the gradient of {name_of(function)}"
    return gradients


def _differentiable_results(found: Any) -> tuple[torch.Tensor, ...]:
    return tuple(one for one in leaves_of(found) if isinstance(one, torch.Tensor) and one.requires_grad)


def _asking(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.requires_grad:
        return tensor
    return torch.nn.Parameter(tensor) if isinstance(tensor, torch.nn.Parameter) else tensor.detach().requires_grad_()
