"""How a backward pass is run where no method of the tensor does it: by functions, tapes, or leaves that ask.

`pass_lookup` finds what may be one; `learning` believes those by which gradients are right.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from gradcheck.engines.tensor_class.user_code_guard import USER_EXCEPTIONS

#: What is given besides the root: nothing; a list of the leaves; one leaf after the other.
LeafMode = Literal["alone", "listed", "each"]
#: A tensor, or what its class calls it, and a gradient.
KeyedGradient = tuple[Any, Any]


def _nothing() -> None: ...


@dataclass(frozen=True, slots=True)
class PassRunner:
    """One way.

    function   called with the root, with what the manner says, and with an incoming gradient if there is one
    manner     of functions that are asked for leaves, these give the gradients back, and tensors keep none
    attribute  of a tensor whose gradient is computed where it is asked for: where that of the root is put, and that of
               others is kept afterwards; else empty
    begin      called when a graph is begun
    end        called when the way is given up
    """

    function: Callable[..., Any]
    leaf_mode: LeafMode = "alone"
    attribute: str = ""
    begin: Callable[[], None] = _nothing
    end: Callable[[], None] = _nothing

    @property
    def returns_gradients(self) -> bool:
        """Whether gradients are given back, leaf by leaf."""
        return self.leaf_mode != "alone"

    @property
    def records(self) -> bool:
        """Whether ops are recorded between its beginning and its end."""
        return self.begin is not _nothing

    def parameters(self) -> list[str]:
        """What may be given besides the root and the leaves."""
        try:
            return list(inspect.signature(self.function).parameters)[1 + self.returns_gradients :]
        except (TypeError, ValueError):
            return ["gradient"]

    def run(
        self, root: Any, leaves: Sequence[Any], seed: tuple[Any, ...], named: dict[str, Any]
    ) -> Iterable[KeyedGradient]:
        """A pass from the root, and the gradients that it has given back. A leaf that is asked for and has nothing to
        do with the root may raise; where all do, the first exception is raised."""
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
        return list(zip(leaves, several, strict=True))


def pass_by_attribute(attribute: str) -> PassRunner:
    """The gradient of the root is put there, and every other tensor computes its own from those that were made of
    it."""

    def put(root: Any, gradient: Any = 1.0) -> None:
        setattr(root, attribute, gradient)

    return PassRunner(put, attribute=attribute)


def _signature_of_method(method: Callable[..., Any]) -> inspect.Signature:
    """What a method takes, without the object itself."""
    signature = inspect.signature(method)
    return signature.replace(parameters=list(signature.parameters.values())[1:])


class ForeignTape:
    """Somebody's class that records what is done to tensors: a new one for every graph, entered if it can be."""

    def __init__(self, kind: type) -> None:
        self.kind = kind
        self.now: Any = None

    def begin(self) -> None:
        """Record on a new one. Raises whatever the class raises."""
        self.end()
        self.now = self.kind()
        if hasattr(self.now, "__enter__"):
            self.now.__enter__()

    def end(self) -> None:
        """Record no more."""
        now, self.now = self.now, None
        if hasattr(now, "__exit__"):
            now.__exit__(None, None, None)

    def passes(self, name: str) -> Iterable[PassRunner]:
        """By a method of the tape: it leaves gradients on tensors, gives them back, or keeps them on the tape, by
        tensor."""

        def run(root: Any, *given: Any, **named: Any) -> Any:
            return getattr(self.now, name)(root, *given, **named)

        def looked_up(root: Any, leaves: list[Any], *given: Any) -> Any:
            getattr(self.now, name)(root, *given)
            return [self.now[leaf] for leaf in leaves]

        run.__signature__ = _signature_of_method(getattr(self.kind, name))  # type: ignore[attr-defined]
        yield PassRunner(run, "alone", "", self.begin, self.end)
        yield PassRunner(run, "listed", "", self.begin, self.end)
        yield PassRunner(run, "each", "", self.begin, self.end)
        if hasattr(self.kind, "__getitem__"):
            yield PassRunner(looked_up, "listed", "", self.begin, self.end)
