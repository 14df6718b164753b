"""A `Function`'s forward recorded by torch, without its own backward.

torch differentiates it, which checks the user's backward independently.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch

from gradcheck.engines.implementation.code_kinds import Code


class RecordingContext:
    """The `ctx` of a forward, which stores its arguments."""

    saved_tensors: tuple[Any, ...] = ()

    def __init__(self, needs: tuple[bool, ...] = ()) -> None:
        self.needs_input_grad = needs

    def save_for_backward(self, *tensors: Any) -> None:
        self.saved_tensors = tensors

    def _ignore(self, *settings: Any) -> None: ...

    save_for_forward = save_for_backward
    mark_dirty = mark_non_differentiable = set_materialize_grads = _ignore


def differentiable_forward(code: Code) -> Code | None:
    """Return the code without own backwards; None if torch cannot record it."""
    if not code.is_torch or code.call is None:
        return None
    inner = code.function
    if inner is not None:
        return replace(code, call=lambda *arguments: _run(inner, arguments), function=None)
    return replace(code, around=_bypass_backwards)


def _run(function: Any, arguments: tuple[Any, ...]) -> Any:
    if function.setup_context is not torch.autograd.Function.setup_context:
        return function.forward(*arguments)
    needs = tuple(isinstance(one, torch.Tensor) and one.requires_grad for one in arguments)
    return function.forward(RecordingContext(needs), *arguments)


@contextmanager
def _bypass_backwards() -> Iterator[None]:
    """Have `apply` of any `Function` run its forward, which torch records."""
    known: Any = torch.autograd.Function.__dict__["apply"]

    def apply(cls: Any, *arguments: Any) -> Any:
        return _run(cls, arguments)

    made: Callable[..., Any] = classmethod(apply)  # type: ignore[assignment]
    torch.autograd.Function.apply = made  # type: ignore[method-assign]
    try:
        yield
    finally:
        torch.autograd.Function.apply = known  # type: ignore[method-assign]
