"""Applications of ops: recorded while the core evaluates a graph, and the arrays among their arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.op import Op
from gradcheck.autograd.tensor import Tensor
from gradcheck.engines.base import Application
from gradcheck.language.evaluation.host import Host

_NAMES = {dtype: name for name, dtype in dtypes.BY_NAME.items()}


class Recorder:
    """A host for the core's tensors that passes every call on and remembers it, until it is `closed`."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._calls: list[tuple[Op, tuple[Any, ...], dict[str, Any], Any, str]] = []
        self.owner = ""  # the graph entry that is being evaluated
        self.closed = False

    def call(self, op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        result = self._host.call(op, args, kwargs)
        if not self.closed:
            self._calls.append((op, args, kwargs, result, self.owner))
        return result

    def dtype(self, name: str) -> Any:
        return self._host.dtype(name)

    def applications(self) -> list[Application]:
        """The calls through which gradients flow, on plain arrays; none twice."""
        seen: set[Any] = set()
        found = []
        for op, args, kwargs, result, owner in self._calls:
            if not _needs_gradient(result):
                continue
            key = (op, *[_key(value) for value in args], *[(name, _key(value)) for name, value in kwargs.items()])
            if key in seen:
                continue
            seen.add(key)
            found.append(_application(op, args, kwargs, result, owner))
        return found


def _needs_gradient(result: Any) -> bool:
    if type(result) is Tensor:
        return result.requires_grad
    return isinstance(result, tuple) and any(_needs_gradient(part) for part in result)


def _key(value: Any) -> Any:
    """Tensors by identity, other arguments by what they say."""
    if type(value) is Tensor:
        return id(value)
    if isinstance(value, (list, tuple)):
        return tuple([_key(item) for item in value])
    return repr(value)


def _application(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any, owner: str) -> Application:
    tracked: list[bool] = []

    def plain(tensor: Tensor) -> np.ndarray:
        tracked.append(tensor.requires_grad)
        return tensor.data

    args = tuple([plain(value) if type(value) is Tensor else convert(value, Tensor, plain) for value in args])
    positional = len(tracked)
    kwargs = {name: convert(value, Tensor, plain) for name, value in kwargs.items()}
    # Only what was written in the signature's order can be pulled back through the record.
    recorded = result if len(tracked) == positional else None
    parts = result if isinstance(result, tuple) else (result,)
    shapes = tuple([(part.shape, part.dtype) if _needs_gradient(part) else None for part in parts])
    return Application(op, args, kwargs, owner, tuple(tracked), recorded, shapes)


# Arguments ------------------------------------------------------------------------------------------


def flat(values: Iterable[Any]) -> Iterator[Any]:
    """Every value, in order, also those in lists and tuples."""
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from flat(value)
        else:
            yield value


def mapped(value: Any, function: Callable[[Any], Any]) -> Any:
    """`function(value)`; for lists and tuples, that of everything in them."""
    if isinstance(value, (list, tuple)):
        return type(value)([mapped(item, function) for item in value])
    return function(value)


def convert(value: Any, kind: type, function: Callable[[Any], Any]) -> Any:
    """`function(value)` for a value of this kind, also inside lists and tuples; all else as it is."""
    return mapped(value, lambda item: function(item) if type(item) is kind else item)


def arrays(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Iterator[np.ndarray]:
    """Every array among the arguments, in order, also those in lists and tuples."""
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
    """The same arguments with `tensor(array)` for each array, in `arrays`' order, and `dtype(name)` for dtypes."""

    def one(value: Any) -> Any:
        if type(value) is np.ndarray:
            return tensor(value)
        return dtype(_NAMES[value]) if isinstance(value, np.dtype) else value

    given = [tensor(value) if type(value) is np.ndarray else mapped(value, one) for value in args]
    return tuple(given), {name: mapped(value, one) for name, value in kwargs.items()}
