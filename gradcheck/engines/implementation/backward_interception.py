"""Interception of a `Function`'s backward, to see its gradients' shapes.

torch raises for a wrong number of gradients, and for one that it cannot sum to the shape of its input, with messages
about its own engine. Such a gradient is kept, to be compared with the right one, and torch gets zeros.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any

import torch

from gradcheck.engines.implementation.code_error import CodeError
from gradcheck.engines.torch_nodes import backward_name

#: Called with an argument's place and a gradient that torch would reject.
KeepGradient = Callable[[int, torch.Tensor], None]


@contextmanager
def intercept_backward(function: Any, arguments: Callable[[], Sequence[Any]], keep: KeepGradient) -> Iterator[None]:
    """Have the backward of a `Function` return only gradients of valid shapes."""
    name = backward_name(function)
    own = vars(function).get(name)
    known = getattr(function, name)

    @wraps(known)
    def backward(ctx: Any, *incoming: Any) -> Any:
        return _checked_gradients(known(ctx, *incoming), arguments(), keep)

    setattr(function, name, staticmethod(backward))
    try:
        yield
    finally:
        if own is None:
            delattr(function, name)
        else:
            setattr(function, name, own)


def _checked_gradients(returned: Any, arguments: Sequence[Any], keep: KeepGradient) -> Any:
    """Return one gradient per argument. Raises CodeError for another number.

    Further ones that are None are ignored, as by torch."""
    listed = list(returned) if isinstance(returned, tuple) else [returned]
    while len(listed) > len(arguments) and listed[-1] is None:
        listed.pop()
    if len(listed) != len(arguments):
        ones, inputs = "gradient" + "s" * (len(listed) != 1), "argument" + "s" * (len(arguments) != 1)
        raise CodeError(f"backward returned {len(listed)} {ones} for {len(arguments)} {inputs}")
    pairs = enumerate(zip(listed, arguments, strict=True))
    return tuple(_checked_gradient(place, *pair, keep) for place, pair in pairs)


def _checked_gradient(place: int, gradient: Any, argument: Any, keep: KeepGradient) -> Any:
    if not isinstance(gradient, torch.Tensor) or not isinstance(argument, torch.Tensor):
        return gradient
    if argument.requires_grad and not _can_be_summed(gradient.shape, argument.shape):
        keep(place, gradient.detach())
        return torch.zeros_like(argument)
    return gradient


def _can_be_summed(shape: Sequence[int], to: Sequence[int]) -> bool:
    """Return whether torch sums a gradient of a shape to that of its input."""
    if len(to) > len(shape):
        return False
    return all(mine in (1, theirs) for theirs, mine in zip(reversed(shape), reversed(to), strict=False))
