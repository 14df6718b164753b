"""Code that returns gradients itself, as one node of torch's graph.

Gradients of wrong shapes are kept and compared; torch gets zeros in their place.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from torch.autograd.function import BackwardCFunction

from gradcheck.autograd.dtypes import BFLOAT16
from gradcheck.engines.tensor_class.user_code_guard import CodeError
from gradcheck.engines.torch import tensor_of
from gradcheck.facts import Fact, fact

#: Returns a gradient, or None, for each argument, given the incoming gradient of each result.
PullbackFunction = Callable[[list[np.ndarray]], Sequence["np.ndarray | None"]]


class ForeignFunction(Protocol):
    """Code of another library, with gradients of torch's convention.

    Those of JAX and HIPS autograd are conjugated for it. They have `gradients`, the pull-back as such a function."""

    def __call__(self, arguments: list[Any], needs: list[bool]) -> tuple[list[np.ndarray], bool, PullbackFunction]:
        """Return the results, whether they are several, and the pull-back.

        `needs` marks the arguments that need a gradient."""
        ...


@dataclass(slots=True)
class Observations:
    """Facts about the code's calls.

    misshapen_gradients    by the argument's place, gradients of another shape than the argument
    summed_gradients       gradients that torch sums to the argument's shape, by its name, with a fact on it
    wider_dtypes           dtypes of results that are more precise than the arguments
    changed_arguments      by place, or "incoming", arguments that were changed in place, as they are then
    is_once_differentiable whether the code declares that it has no second order
    shares_memory          whether a result shares the memory of an argument
    unrecorded_gradients   inputs whose gradients record no graph, so that they have no second order
    constant_results       results that require no gradient, beside others that do
    has_nested_results     whether results are in a dict, nested, or beside others than tensors
    autocast_dtype         the dtype of an autocast in which the code is judged, or empty
    is_single_precision    whether JAX code raises in double precision alone, and is judged in single"""

    misshapen_gradients: dict[int, np.ndarray] = field(default_factory=dict)
    summed_gradients: dict[str, tuple[Fact, np.ndarray]] = field(default_factory=dict)
    wider_dtypes: set[str] = field(default_factory=set)
    changed_arguments: dict[str, np.ndarray] = field(default_factory=dict)
    is_once_differentiable: bool = False
    shares_memory: bool = False
    unrecorded_gradients: tuple[str, ...] = ()
    constant_results: tuple[str, ...] = ()
    has_nested_results: bool = False
    autocast_dtype: str = ""
    is_single_precision: bool = False


def insert_at(values: Iterable[Any], places: Sequence[int], among: Sequence[Any]) -> list[Any]:
    """Return a list with some values replaced at their places."""
    found = list(among)
    for place, value in zip(places, values, strict=True):
        found[place] = value
    return found


@dataclass(slots=True)
class ForeignCall:
    """One call of the code: its arguments, as arrays, and copies of them.

    `restart` resets random generators where the code runs again, to differentiate a gradient."""

    code: ForeignFunction
    arguments: list[Any]
    observations: Observations
    arrays: Callable[[Any], np.ndarray]
    restart: Callable[[], None]
    passed_arrays: list[Any] = field(default_factory=list)
    array_copies: list[Any] = field(default_factory=list)
    records: bool = field(default_factory=torch.is_grad_enabled)  # whether gradients may be asked for

    @property
    def places(self) -> list[int]:
        """The places of tensors among the arguments."""
        return [place for place, one in enumerate(self.arguments) if isinstance(one, torch.Tensor)]

    def results(self) -> Any:
        """Return the results as torch's tensors, with the code's gradients."""
        node: Any = _ForeignNode
        return node.apply(self, *(self.arguments[place] for place in self.places))

    def forward(
        self, tensors: Sequence[torch.Tensor], needs: Sequence[bool]
    ) -> tuple[list[torch.Tensor], bool, PullbackFunction]:
        places = self.places
        given = insert_at((self.arrays(tensor.detach()).copy() for tensor in tensors), places, self.arguments)
        self.passed_arrays = given
        self.array_copies = [one.copy() if isinstance(one, np.ndarray) else one for one in given]
        needed = [need and self.records for need in needs]
        results, several, pull = self.code(given, insert_at(needed, places, [False] * len(given)))
        self.note_changed_arguments()
        arrays = [one for one in results if isinstance(one, np.ndarray)]
        shared = any(np.may_share_memory(one, given[place]) for one in arrays for place in places)
        self.observations.shares_memory |= shared
        device = tensors[0].device if tensors else torch.empty(0).device
        return [tensor_of(np.asarray(one)).to(device) for one in results], several, pull

    def recorded_gradients(self, needs: Sequence[bool], incoming: Sequence[torch.Tensor]) -> list[Any]:
        """Return the gradients, by a call that can be differentiated."""
        self.restart()
        asked = tuple(insert_at(needs, self.places, [False] * len(self.arguments)))
        gradients = self.code.gradients(asked)  # type: ignore[attr-defined]
        found = iter(replace(self, code=gradients, arguments=[*self.arguments, *incoming]).results())
        return [next(found) if need else None for need in needs]

    def note_changed_arguments(self) -> None:
        """Note arguments that have been changed in place."""
        for place in self.places:
            if not _is_same(self.passed_arrays[place], self.array_copies[place]):
                self.observations.changed_arguments[f"argument {place}"] = self.passed_arrays[place].copy()


class _ForeignNode(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, one: ForeignCall, *tensors: torch.Tensor) -> Any:
        results, several, pull = one.forward(tensors, ctx.needs_input_grad[1:])
        ctx.one, ctx.pull, ctx.tensors = one, pull, tensors
        ctx.set_materialize_grads(True)
        ctx.mark_non_differentiable(*[r for r in results if not (r.is_floating_point() or r.is_complex())])
        return tuple(results) if several else results[0]

    @staticmethod
    def backward(ctx: Any, *incoming: torch.Tensor) -> Any:
        one: ForeignCall = ctx.one
        if torch.is_grad_enabled() and hasattr(one.code, "gradients"):
            return (None, *one.recorded_gradients(ctx.needs_input_grad[1:], incoming))
        given = [one.arrays(g).copy() for g in incoming]
        kept = [g.copy() for g in given]
        found = ctx.pull(given)
        one.note_changed_arguments()
        for now, before in zip(given, kept, strict=True):
            if not _is_same(now, before):
                one.observations.changed_arguments["incoming"] = now.copy()
        gradients = [
            _as_torch_gradient(found[place], tensor, place, one.observations) if need else None
            for place, tensor, need in zip(one.places, ctx.tensors, ctx.needs_input_grad[1:], strict=True)
        ]
        return (None, *gradients)


def _is_same(now: np.ndarray, before: np.ndarray) -> bool:
    return np.array_equal(now, before, equal_nan=now.dtype.kind in "fc")


def _as_torch_gradient(gradient: Any, tensor: torch.Tensor, place: int, record: Observations) -> torch.Tensor | None:
    if gradient is None:
        return None
    array = np.asarray(gradient)
    if array.dtype.kind not in "biufc" and array.dtype != BFLOAT16:
        raise CodeError(f"the gradient of argument {place + 1} is {type(gradient).__name__}, no array of numbers")
    if array.shape != tuple(tensor.shape):
        record.misshapen_gradients[place] = array
        return torch.zeros_like(tensor)
    made = tensor_of(array)
    if made.dtype != tensor.dtype:
        record.wider_dtypes.add(array.dtype.name)
    return made.to(tensor.device, tensor.dtype)


# Interception of `Function`s' backwards, for their gradients' shapes -------------------------------
#
# torch raises for a wrong number of gradients, and for one that it cannot sum to the shape of its argument, with
# messages about its own engine. It sums a larger gradient without a word.

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
