"""Applications of ops, recorded during a graph, and their arguments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.op import Op
from gradcheck.autograd.tensor import Tensor
from gradcheck.engines.base import Application
from gradcheck.language.evaluation.host import Host

_NAMES = {dtype: name for name, dtype in dtypes.BY_NAME.items()}


class RecordedCall(NamedTuple):
    """An op applied to an engine's tensors, with its result."""

    op: Op
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    result: Any
    owner: str  # the graph entry it stands in


class Recorder:
    """A host that passes every call on and records it, until it is `closed`."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self.calls: list[RecordedCall] = []
        self.owner = ""  # the graph entry that is being evaluated
        self.closed = False

    def call(self, op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        result = self._host.call(op, args, kwargs)
        if not self.closed:
            self.calls.append(RecordedCall(op, args, kwargs, result, self.owner))
        return result

    def dtype(self, name: str) -> Any:
        return self._host.dtype(name)

    def differentiable_indices(self) -> list[int]:
        """Return the distinct calls of the core through which gradients flow."""
        found = [number for number, call in enumerate(self.calls) if _needs_gradient(call.result)]
        ops = [self.calls[number].op for number in found]
        if len(set(ops)) == len(ops):
            return found
        several = Counter(ops)
        keys = {_call_key(self.calls[n]) if several[self.calls[n].op] > 1 else n: n for n in reversed(found)}
        return sorted(keys.values())

    def applications(self) -> list[Application]:
        """Return those calls as applications to plain arrays."""
        return [application_of(self.calls[number]) for number in self.differentiable_indices()]


def _needs_gradient(result: Any) -> bool:
    if type(result) is Tensor:
        return result.requires_grad
    return isinstance(result, tuple) and any(_needs_gradient(part) for part in result)


def _call_key(call: RecordedCall) -> tuple[Any, ...]:
    op, args, kwargs = call.op, call.args, call.kwargs
    return (op, *[_key(value) for value in args], *[(name, _key(value)) for name, value in kwargs.items()])


def _key(value: Any) -> Any:
    """Return a key of a value: tensors by identity, other arguments by text."""
    if type(value) is Tensor:
        return id(value)
    if isinstance(value, (list, tuple)):
        return tuple([_key(item) for item in value])
    return repr(value)


def application_of(call: RecordedCall) -> Application:
    """Return a call of the core as an application to plain arrays."""
    op, args, kwargs, result, owner = call
    tracked: list[bool] = []

    def plain(tensor: Tensor) -> np.ndarray:
        tracked.append(tensor.requires_grad)
        return tensor.data

    args = tuple([plain(value) if type(value) is Tensor else convert(value, Tensor, plain) for value in args])
    positional = len(tracked)
    kwargs = {name: convert(value, Tensor, plain) for name, value in kwargs.items()}
    # The record can be pulled back only if the arguments are in the signature's order.
    recorded = result if len(tracked) == positional else None
    parts = result if isinstance(result, tuple) else (result,)
    shapes = tuple([(part.shape, part.dtype) if _needs_gradient(part) else None for part in parts])
    return Application(op, args, kwargs, owner, tuple(tracked), recorded, shapes)


def has_keyword_tensor(call: RecordedCall, kind: type) -> bool:
    """Return whether a keyword argument holds a tensor of this type."""
    return bool(call.kwargs) and any(isinstance(value, kind) for value in flat(call.kwargs.values()))


# Arguments ------------------------------------------------------------------------------------------


def flat(values: Collection[Any]) -> Iterable[Any]:
    """Return every value in order, nested lists and tuples included."""
    for value in values:
        if isinstance(value, (list, tuple)):
            return _flattened(values)
    return values


def _flattened(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from _flattened(value)
        else:
            yield value


def map_nested(value: Any, function: Callable[[Any], Any]) -> Any:
    """Apply a function to a value, or to every item of nested lists."""
    if isinstance(value, (list, tuple)):
        return type(value)([map_nested(item, function) for item in value])
    return function(value)


def convert(value: Any, kind: type, function: Callable[[Any], Any]) -> Any:
    """Apply a function to values of this type, also in nested lists."""
    return map_nested(value, lambda item: function(item) if type(item) is kind else item)


def arrays(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Iterator[np.ndarray]:
    """Yield every array among the arguments in order, also in nested lists."""
    for value in (*args, *kwargs.values()):
        if isinstance(value, np.ndarray):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from arrays(tuple(value), {})


def rebuild(
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    tensor: Callable[[np.ndarray], Any],
    dtype: Callable[[str], Any],
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments with arrays and dtypes replaced.

    Each array becomes `tensor(array)`, in `arrays`' order, and each dtype `dtype(name)`."""

    def one(value: Any) -> Any:
        if type(value) is np.ndarray:
            return tensor(value)
        return dtype(_NAMES[value]) if isinstance(value, np.dtype) else value

    given = [tensor(value) if type(value) is np.ndarray else map_nested(value, one) for value in args]
    return tuple(given), {name: map_nested(value, one) for name, value in kwargs.items()}
