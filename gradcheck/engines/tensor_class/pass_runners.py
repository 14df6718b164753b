"""Backward passes that are no method of the tensor: functions, tapes.

`pass_lookup` finds candidates; `capability_learning` tests them by gradients. `ReturnedGradients` are those that
tensors do not keep.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from gradcheck.engines.tensor_class.dialects import KEYS
from gradcheck.engines.tensor_class.user_code_guard import USER_EXCEPTIONS, signature_parameters
from gradcheck.errors import Unsupported

#: The arguments besides the root: none; a list of the leaves; one leaf at a time.
LeafMode = Literal["alone", "listed", "each"]
#: A tensor, or its key, and a gradient.
KeyedGradient = tuple[Any, Any]


def _nothing() -> None: ...


@dataclass(frozen=True, slots=True)
class PassRunner:
    """One function that runs passes.

    function   takes the root, leaves by `leaf_mode`, and an incoming gradient, if any
    leaf_mode  functions that take leaves return their gradients, and tensors keep none
    attribute  for tensors that compute their gradients when read: the attribute for the root's, else ""
    begin      called at the beginning of a graph
    end        called when the runner is dropped"""

    function: Callable[..., Any]
    leaf_mode: LeafMode = "alone"
    attribute: str = ""
    begin: Callable[[], None] = _nothing
    end: Callable[[], None] = _nothing

    @property
    def returns_gradients(self) -> bool:
        """True if gradients are returned, leaf by leaf."""
        return self.leaf_mode != "alone"

    @property
    def records(self) -> bool:
        """True if ops are recorded between `begin` and `end`."""
        return self.begin is not _nothing

    def parameters(self) -> list[str]:
        """Return the parameters besides the root and the leaves."""
        found = signature_parameters(self.function)
        return ["gradient"] if found is None else [one.name for one in found[1 + self.returns_gradients :]]

    def run(
        self, root: Any, leaves: Sequence[Any], seed: tuple[Any, ...], named: dict[str, Any]
    ) -> Iterable[KeyedGradient]:
        """Run a pass from the root; return the gradients that it returns.

        A leaf that the root does not depend on may raise; if all do, the first exception is raised."""
        if not self.returns_gradients:
            found = self.function(root, *seed, **named)
            return list(found.items()) if isinstance(found, Mapping) else []
        try:
            return self._gradients_of(root, leaves, seed, named)
        except USER_EXCEPTIONS:
            if len(leaves) == 1:
                raise
        pairs: list[KeyedGradient] = []
        problem: BaseException | None = None
        for leaf in leaves:
            try:
                pairs += self._gradients_of(root, [leaf], seed, named)
            except Unsupported:
                raise
            except USER_EXCEPTIONS as error:
                problem = problem or error
        if problem is not None and not pairs:
            raise problem
        return pairs

    def _gradients_of(
        self, root: Any, leaves: Sequence[Any], seed: tuple[Any, ...], named: dict[str, Any]
    ) -> list[KeyedGradient]:
        if self.leaf_mode == "each":
            return [(leaf, self.function(root, leaf, *seed, **named)) for leaf in leaves]
        given = self.function(root, list(leaves), *seed, **named)
        if isinstance(given, Mapping):
            return list(given.items())
        several = given if isinstance(given, (list, tuple)) else (given,)
        if isinstance(given, np.ndarray) and (given.dtype == object or len(leaves) > 1):  # made of a list
            several = [np.array(one, float) for one in given]
        return list(zip(leaves, several, strict=True))


def pass_by_attribute(attribute: str) -> PassRunner:
    """Return a runner for tensors that compute gradients when they are read.

    It sets the root's gradient; each other tensor computes its own from the tensors made of it."""

    def put(root: Any, gradient: Any = 1.0) -> None:
        setattr(root, attribute, gradient)

    return PassRunner(put, attribute=attribute)


class ForeignTape:
    """A user's recorder of ops: a new one, entered if possible, per graph."""

    def __init__(self, kind: type) -> None:
        self.kind = kind
        self.now: Any = None

    def begin(self) -> None:
        """Begin a new tape."""
        self.end()
        self.now = self.kind()
        if hasattr(self.now, "__enter__"):
            self.now.__enter__()

    def end(self) -> None:
        """End the tape, also if it raises."""
        now, self.now = self.now, None
        if hasattr(now, "__exit__"):
            with suppress(*USER_EXCEPTIONS):
                now.__exit__(None, None, None)

    def passes(self, name: str) -> Iterable[PassRunner]:
        """Yield runners by a method, for each place that may keep gradients."""

        def run(root: Any, *given: Any, **named: Any) -> Any:
            return getattr(self.now, name)(root, *given, **named)

        def looked_up(root: Any, leaves: list[Any], *given: Any) -> Any:
            getattr(self.now, name)(root, *given)
            return [self.now[leaf] for leaf in leaves]

        signature = inspect.signature(getattr(self.kind, name))
        own = signature.replace(parameters=list(signature.parameters.values())[1:])  # without `self`
        run.__signature__ = own  # type: ignore[attr-defined]
        yield PassRunner(run, "alone", "", self.begin, self.end)
        yield PassRunner(run, "listed", "", self.begin, self.end)
        yield PassRunner(run, "each", "", self.begin, self.end)
        if hasattr(self.kind, "__getitem__"):
            yield PassRunner(looked_up, "listed", "", self.begin, self.end)


class ReturnedGradients:
    """The sums of gradients returned by passes over one graph."""

    def __init__(self) -> None:
        self._found: dict[Any, tuple[Any, np.ndarray]] = {}  # by the tensor's id, or its key

    def add(
        self, gradients: Iterable[tuple[Any, Any]], is_tensor: Callable[[Any], bool], array: Callable[[Any], Any]
    ) -> None:
        """Add the gradients of one pass, each with its tensor or key."""
        for key, gradient in gradients:
            values = array(gradient)
            if values is None:
                continue
            place = id(key) if is_tensor(key) else key
            _, so_far = self._found.get(place, (None, None))
            self._found[place] = key, np.array(values if so_far is None else so_far + values)

    def of(self, tensor: Any) -> np.ndarray | None:
        """Return the gradient of a tensor, if any."""
        found = next((self._found[place] for place in _places(tensor) if place in self._found), None)
        return None if found is None else found[1]

    def put(self, tensor: Any, gradient: np.ndarray | None) -> bool:
        """Clear or replace a tensor's gradient; return whether it could have one."""
        place = next((place for place in _places(tensor) if place in self._found), None)
        if gradient is None:
            return self._found.pop(place, None) is not None
        if place is None and self._found:
            place, key = self._new_place(tensor)
        elif place is not None:
            key = self._found[place][0]
        if place is None:
            return False
        self._found[place] = key, np.array(gradient)
        return True

    def _new_place(self, tensor: Any) -> tuple[Any, Any]:
        """Return the place and the key for a tensor without a gradient."""
        is_by_key = any(key is place for place, (key, _) in self._found.items())
        places = list(_places(tensor))[1:] if is_by_key else [id(tensor)]
        return (None, None) if not places else (places[0], places[0] if is_by_key else tensor)

    def clear(self) -> None:
        """Clear all gradients."""
        self._found = {}


def _places(tensor: Any) -> Iterator[Any]:
    yield id(tensor)
    for name in KEYS:
        try:
            key = getattr(tensor, name, None)
            hash(key)
        except USER_EXCEPTIONS:
            continue
        if isinstance(key, (int, str)) and key != "":
            yield key
