"""Classes that keep no gradients: a pass gives them back, by node or by name."""

from __future__ import annotations

from collections import defaultdict
from itertools import count
from typing import Any

import numpy as np


class Var:
    """A number and its derivatives by those that it was made of; a function multiplies these along every path."""

    def __init__(self, value: float, local_gradients: Any = ()) -> None:
        self.value, self.local_gradients = value, local_gradients

    def __add__(self, other: Var) -> Var:
        return Var(self.value + other.value, ((self, 1.0), (other, 1.0)))

    def __mul__(self, other: Var) -> Var:
        return Var(self.value * other.value, ((self, other.value), (other, self.value)))


def get_gradients(root: Var) -> dict[Var, float]:
    gradients: dict[Var, float] = defaultdict(float)
    waiting = [(root, 1.0)]
    while waiting:
        node, so_far = waiting.pop()
        for child, local in node.local_gradients:
            gradients[child] += so_far * local
            waiting.append((child, so_far * local))
    return gradients


_NUMBERS = count()


class Recorded:
    """Arrays, and a tape of all that was done to them; `backward` gives a dictionary."""

    tape: list[Any]

    def __init__(self, value: Any) -> None:
        self.value, self.name = np.asarray(value, float), f"v{next(_NUMBERS)}"

    def made(self, value: Any, *parts: Any) -> Any:
        made = type(self)(value)
        self.tape.append((made, parts))
        return made

    def __add__(self, other: Any) -> Any:
        return self.made(self.value + other.value, (self, lambda g: g), (other, lambda g: g))

    def __mul__(self, other: Any) -> Any:
        return self.made(self.value * other.value, (self, lambda g: g * other.value), (other, lambda g: g * self.value))

    def sum(self) -> Any:
        return self.made(self.value.sum(), (self, lambda g: np.full(self.value.shape, g)))

    def key(self) -> Any:
        return self

    def arrived(self, so_far: Any, part: Any) -> Any:
        return part if so_far is None else so_far + part

    def backward(self, gradient: Any = None) -> dict[Any, Any]:
        found = {self.key(): np.ones(self.value.shape) if gradient is None else gradient}
        for made, parts in reversed(self.tape):
            for one, rule in parts if made.key() in found else ():
                found[one.key()] = self.arrived(found.get(one.key()), rule(found[made.key()]))
        return found


class ByNode(Recorded):
    tape: list[Any] = []  # noqa: RUF012 - there is one for all


class ByName(Recorded):
    tape: list[Any] = []  # noqa: RUF012

    def key(self) -> Any:
        return self.name


class Overwriting(Recorded):
    tape: list[Any] = []  # noqa: RUF012

    def arrived(self, so_far: Any, part: Any) -> Any:
        return part
