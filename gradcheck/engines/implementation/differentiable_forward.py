"""A `Function`'s forward recorded by torch, without its own backward.

torch differentiates it, which checks the user's backward independently.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
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


def differentiable_forward(code: Code, of_kept: bool = False) -> Code | None:
    """Return the code without own backwards; None if torch cannot record it.

    With `of_kept`, also without that of an `apply` that was looked up before."""
    if not code.is_torch or code.call is None:
        return None
    inner = code.function
    if inner is not None:
        return replace(code, call=lambda *arguments: _run(inner, arguments), function=None)
    return replace(code, around=partial(_bypass_backwards, of_kept))


def _run(function: Any, arguments: tuple[Any, ...]) -> Any:
    if function.setup_context is not torch.autograd.Function.setup_context:
        return function.forward(*arguments)
    needs = tuple(isinstance(one, torch.Tensor) and one.requires_grad for one in arguments)
    return function.forward(RecordingContext(needs), *arguments)


@contextmanager
def _bypass_backwards(of_kept: bool) -> Iterator[None]:
    """Have `apply` of any `Function` run its forward, which torch records."""
    base: Any = torch.autograd.function._SingleLevelFunction if of_kept else torch.autograd.Function
    known: Any = base.__dict__.get("apply")

    def apply(cls: Any, *arguments: Any) -> Any:
        return _run(cls, arguments)

    made: Callable[..., Any] = classmethod(apply)  # type: ignore[assignment]
    base.apply = made
    try:
        yield
    finally:
        del base.apply
        if known is not None:
            base.apply = known
