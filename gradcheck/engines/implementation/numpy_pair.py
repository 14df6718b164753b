"""A forward and its backward on NumPy arrays, as courses write them.

The forward returns `(out, cache)`, the backward gradients in the arguments' order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gradcheck.engines.implementation.binding import parameters_of
from gradcheck.engines.implementation.code_error import CodeError
from gradcheck.engines.implementation.foreign_function import PullbackFunction, insert_at

#: Prefix and suffix of a tensor's name in the name of its gradient.
_GRADIENT_AFFIXES = (("", ""), ("d", ""), ("grad_", ""), ("d_", ""), ("", "_grad"))


class NumpyPair:
    """A forward, with `backward(incoming, cache)` or `(incoming, *inputs)`."""

    def __init__(self, forward: Callable[..., Any], backward: Callable[..., Any], several: int = 1) -> None:
        """`several` is the number of tensors of the entry."""
        self.forward, self.backward, self._several = forward, backward, several

    @property
    def keeps_state(self) -> bool:
        """True if both are methods of one object, such as a layer."""
        owner = getattr(self.forward, "__self__", self.forward)
        return owner is getattr(self.backward, "__self__", None)

    def __call__(self, arguments: list[Any], needs: list[bool]) -> tuple[list[np.ndarray], bool, PullbackFunction]:
        found = self.forward(*arguments)
        results, caches = self._split_results(found)
        arrays = [_array(one) for one in results]
        if len(arrays) != self._several and self._several == 1:
            raise CodeError(f"forward returned {len(arrays)} tensors; a pair is (result, cache)")

        def pull(incoming: list[np.ndarray]) -> Sequence[np.ndarray | None]:
            given = tuple(incoming) if self._several > 1 else incoming[0]
            returned = self.backward(*self._backward_arguments(given, caches, arguments, results))
            return gradients_in_order(returned, arguments, needs, _names(self.forward))

        return arrays, self._several > 1, pull

    def backward_arguments_text(self, given: list[Any], arguments: list[str], names: tuple[str, str]) -> list[str]:
        """Return the backward's arguments as text.

        `names` are the variables of the incoming gradient and of the forward's result."""
        incoming, name = names
        found = self.forward(*given)
        _, caches = self._split_results(found)
        result = f"{name}[0]" if isinstance(found, tuple) else name
        first = 1
        if self._several > 1 and isinstance(found, tuple):
            is_nested = len(found) == 2 and len(caches) == 1 and self._several != 1 and found[1] is caches[0]
            first = 1 if is_nested else self._several
            incoming = f"tuple({incoming})"
        cached = [f"{name}[{n}]" for n in range(first, first + len(caches))]
        return self._backward_arguments(incoming, cached, arguments, [result])

    def _split_results(self, found: Any) -> tuple[list[Any], list[Any]]:
        if not isinstance(found, tuple):
            return (list(found), []) if isinstance(found, list) and self._several > 1 else ([found], [])
        if self._several > 1:
            inner = found[0]
            if len(found) == 2 and isinstance(inner, (tuple, list)) and len(inner) == self._several:
                return list(inner), [found[1]]
            if len(found) == self._several:
                return list(found), []
            return list(found[: self._several]), list(found[self._several :])
        return [found[0]], list(found[1:])

    def _backward_arguments(
        self, incoming: Any, caches: list[Any], arguments: list[Any], results: list[Any]
    ) -> list[Any]:
        """Return the backward's arguments: the cache, else the inputs."""
        names, own = _names(self.backward), _names(self.forward)
        takes_inputs = names is not None and len(names) == 1 + len(arguments) and len(names) > 1 + len(caches)
        if caches and not takes_inputs:
            return [incoming, *caches]
        if names is None:
            return [incoming, *arguments]
        wanted = names[1:]
        if own is not None and all(name in own for name in wanted):
            by_name = dict(zip(own, arguments, strict=False))
            if all(name in by_name for name in wanted):
                return [incoming, *(by_name[name] for name in wanted)]
        if len(wanted) == len(arguments) + 1:
            return [incoming, *arguments, results[0]]
        return [incoming, *arguments[: len(wanted)]]


def _names(function: Callable[..., Any]) -> list[str] | None:
    listed = parameters_of(function)
    return None if listed is None else [one.name for one in listed if one.default is one.empty]


def _array(result: Any) -> np.ndarray:
    array = np.asarray(result)
    if array.dtype.kind not in "biufc":
        raise CodeError(f"forward returned {type(result).__name__}, no array of numbers")
    return array


def gradients_in_order(
    returned: Any, arguments: Sequence[Any], needs: Sequence[bool], names: Sequence[str] | None = None
) -> list[Any]:
    """Return a backward's gradients in the order of the arguments.

    They may be in order, with or without those of arguments that need none, one array, or a mapping by name. Raises
    CodeError for another number."""
    if isinstance(returned, Mapping):
        return _by_name(returned, len(arguments), names or [])
    is_list = isinstance(returned, list) and any(one is None or isinstance(one, np.ndarray) for one in returned)
    listed = list(returned) if isinstance(returned, tuple) or is_list else [returned]
    wanted = [place for place, need in enumerate(needs) if need]
    tensors = [place for place, one in enumerate(arguments) if isinstance(one, np.ndarray)]
    if len(listed) == len(arguments):
        return listed
    for places in (wanted, [place for place in tensors if arguments[place].dtype.kind in "fc"], tensors):
        if len(listed) == len(places):
            return insert_at(listed, places, [None] * len(arguments))
    raise CodeError(f"backward returned {len(listed)} gradients for {len(wanted)} inputs that get one")


def _by_name(returned: Mapping[Any, Any], count: int, names: Sequence[str]) -> list[Any]:
    found: list[Any] = [None] * count
    used = set()
    for place, name in zip(range(count), names, strict=False):
        keys = (f"{before}{name}{after}" for before, after in _GRADIENT_AFFIXES)
        key = next((key for key in keys if key in returned), None)
        if key is not None:
            found[place] = returned[key]
            used.add(key)
    unknown = [str(key) for key in returned if key not in used]
    if unknown and not used:
        raise CodeError(f"backward returned gradients of {', '.join(unknown)}; the inputs are {', '.join(names)}")
    return found
