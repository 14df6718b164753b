"""Interception of `Function`s' backwards, for their gradients' shapes.

torch raises for a wrong number of gradients, and for one that it cannot sum to the shape of its argument, with messages
about its own engine. It sums a larger gradient without a word.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch.autograd.function import BackwardCFunction

from gradcheck.engines.tensor_class.user_code_guard import CodeError
from gradcheck.facts import Fact, fact

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class ReturnedGradient(NamedTuple):
    """A gradient of another shape than the argument of a `Function`."""

    function: type
    place: int  # of the argument
    gradient: torch.Tensor
    shape: tuple[int, ...]  # of the argument

    @property
    def fits(self) -> bool:
        """True if torch sums it to the argument's shape."""
        mine, theirs = self.shape, tuple(self.gradient.shape)
        pairs = zip(reversed(theirs), reversed(mine), strict=False)
        return len(mine) <= len(theirs) and all(size in (1, given) for given, size in pairs)

    @property
    def name(self) -> str:
        """The argument's name in the forward; its number if unknown."""
        names = _argument_names(self.function)
        return names[self.place] if self.place < len(names) else f"argument {self.place + 1}"

    def summed(self, name: str) -> Fact:
        """Return a fact on the axes over which torch sums it."""
        got = tuple(self.gradient.shape)
        padded = (*(0,) * (len(got) - len(self.shape)), *self.shape)
        axes = tuple(axis for axis, size in enumerate(got) if padded[axis] != size)
        return fact("returned_is_summed", name=name, got=got, want=self.shape, axes=axes)

    def does_not_fit(self) -> CodeError:
        """Return an error with the argument and both shapes."""
        got, want, which = list(self.gradient.shape), list(self.shape), self.function.__name__
        return CodeError(f"the backward of {which} returned shape {got} for {self.name} of shape {want}")


#: Called with each gradient of another shape than its argument. A CodeError ends the backward pass.
KeepGradient = Callable[[ReturnedGradient], None]


@contextmanager
def intercept_backward(keep: KeepGradient) -> Iterator[None]:
    """Have each `Function`'s backward return only valid shapes.

    torch gets zeros in place of a gradient that does not fit."""
    known: Callable[..., Any] = BackwardCFunction.apply

    def apply(node: Any, *incoming: Any) -> Any:
        return _checked_gradients(node, known(node, *incoming), keep)

    BackwardCFunction.apply = apply  # type: ignore[method-assign]
    try:
        yield
    finally:
        BackwardCFunction.apply = known  # type: ignore[method-assign]


def _checked_gradients(node: Any, returned: Any, keep: KeepGradient) -> Any:
    """Return one gradient per argument. Raises CodeError for another number.

    Further ones that are None are ignored, as by torch."""
    needs = node.needs_input_grad
    listed = list(returned) if isinstance(returned, tuple) else [returned]
    while len(listed) > len(needs) and listed[-1] is None:
        listed.pop()
    if len(listed) != len(needs):
        ones, inputs = "gradient" + "s" * (len(listed) != 1), "argument" + "s" * (len(needs) != 1)
        raise CodeError(f"backward returned {len(listed)} {ones} for {len(needs)} {inputs}")
    places = [place for place, need in enumerate(needs) if need]
    edges = [edge for edge in node.next_functions if edge[0] is not None]
    for place, (target, number) in zip(places, edges, strict=False):
        gradient, shape = listed[place], _shape_that_fits(target, number)
        if isinstance(gradient, torch.Tensor) and shape is not None and gradient.shape != shape:
            found = ReturnedGradient(node._forward_cls, place, gradient.detach(), tuple(shape))
            keep(found)
            listed[place] = gradient if found.fits else gradient.new_zeros(shape)
    return tuple(listed)


def _shape_that_fits(target: Any, number: int) -> torch.Size | None:
    """Return the shape of a node's gradient, None if torch hides it.

    Before version 2.5 it does so, but for leaves."""
    if hasattr(target, "variable"):
        return torch.Size(target.variable.shape)
    known = getattr(target, "_input_metadata", None)
    return None if known is None else torch.Size(known[number].shape)


def _argument_names(function: Any) -> Sequence[str]:
    """Return the names of the forward's arguments after `ctx`."""
    names = [one.name for one in inspect.signature(function.forward).parameters.values() if one.kind in _POSITIONAL]
    has_context = function.setup_context is torch.autograd.Function.setup_context
    return names[1:] if has_context else names
