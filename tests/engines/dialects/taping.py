"""Classes that record nothing themselves: a tape does, and has the gradients."""

from __future__ import annotations

from typing import Any

import numpy as np


class Watched:
    """What is done to it is written on the tape that is open."""

    def __init__(self, value: Any) -> None:
        self.value = np.asarray(value, float)

    def made(self, value: Any, *parts: Any) -> Any:
        made = Watched(value)
        if GradTape.open:
            GradTape.open[-1].lines.append((made, parts))
        return made

    def __add__(self, other: Any) -> Any:
        return self.made(self.value + other.value, (self, lambda g: g), (other, lambda g: g))

    def __mul__(self, other: Any) -> Any:
        return self.made(self.value * other.value, (self, lambda g: g * other.value), (other, lambda g: g * self.value))

    def sum(self) -> Any:
        return self.made(self.value.sum(), (self, lambda g: np.full(self.value.shape, g)))


class GradTape:
    """One is good for one pass."""

    open: list[GradTape] = []  # noqa: RUF012 - there is one for all

    def __init__(self) -> None:
        self.lines: list[Any] = []
        self.used = False

    def __enter__(self) -> GradTape:
        GradTape.open.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        GradTape.open.remove(self)

    def gradient(self, root: Watched, leaves: list[Watched]) -> list[Any]:
        assert not self.used
        self.used = True
        found: dict[int, Any] = {id(root): np.ones(root.value.shape)}
        for made, parts in reversed(self.lines):
            for one, rule in parts if id(made) in found else ():
                found[id(one)] = found.get(id(one), 0) + rule(found[id(made)])
        return [found.get(id(leaf)) for leaf in leaves]
