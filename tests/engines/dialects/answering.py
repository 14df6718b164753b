"""Classes that NumPy asks what its functions of them come to; one of them on a tape alone, one without gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.engines.dialects import sound

RULES: dict[Any, Any] = {
    np.add: (lambda g, a, b: g, lambda g, a, b: g),
    np.multiply: (lambda g, a, b: g * b, lambda g, a, b: g * a),
    np.sin: (lambda g, a: g * np.cos(a),),
}


class Array:
    """Outside of a record its results are NumPy's arrays."""

    def __init__(self, data: Any) -> None:
        self.data = np.asarray(data, float)

    def __array_ufunc__(self, function: Any, method: str, *given: Any) -> Any:
        if function not in RULES or method != "__call__":
            return NotImplemented
        values = [one.data if isinstance(one, Array) else one for one in given]
        found = function(*values)
        if Record.now is None:
            return found
        made = type(self)(found)
        Record.now.lines.append((made, function, given, values))
        return made

    def __add__(self, other: Any) -> Any:
        return np.add(self, other)

    def __mul__(self, other: Any) -> Any:
        return np.multiply(self, other)

    def accumulated(self, so_far: Any, more: Any) -> Any:
        return more if so_far is None else so_far + more


class Overwriting(Array):
    """The last use of a tensor is the only one that counts."""

    def accumulated(self, so_far: Any, more: Any) -> Any:
        return more


class Graph:
    """What has been computed since it was entered."""

    def __init__(self) -> None:
        self.lines: list[Any] = []

    def __enter__(self) -> Graph:
        Record.now = self
        return self

    def __exit__(self, *_: object) -> None:
        Record.now = None

    def backward(self, target: Array, sources: list[Array], *, gradient: Any = None) -> list[Any]:
        found = {id(target): np.ones(target.data.shape) if gradient is None else gradient}
        for made, function, given, values in reversed(self.lines):
            for one, rule in zip(given, RULES[function], strict=True) if id(made) in found else ():
                more = rule(found[id(made)], *values)
                found[id(one)] = one.accumulated(found.get(id(one)), more)
        return [found.get(id(source)) for source in sources]


class Record:
    """Which graph is entered."""

    now: Graph | None = None


class Detaching(sound.Tensor):
    """NumPy's functions give a tensor of what came out, and no gradient goes through it."""

    def __array_ufunc__(self, function: Any, method: str, *given: Any) -> Any:
        return type(self)(getattr(function, method)(*[getattr(one, "data", one) for one in given]))
