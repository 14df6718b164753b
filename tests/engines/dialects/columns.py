"""Lists of rows, of one number each where a pass begins: arrays can be held, and not computed with."""

from __future__ import annotations

from typing import Any


class Columns:
    def __init__(self, data: Any, parents: Any = (), rule: Any = None) -> None:
        self.data, self.parents, self.rule, self.grad = data, parents, rule, None

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.data), len(self.data[0])

    def __add__(self, other: Any) -> Any:
        return Columns(_each(lambda a, b: a + b, self.data, other.data), (self, other), lambda g: (g, g))

    def __mul__(self, other: Any) -> Any:
        return Columns(
            _each(lambda a, b: a * b, self.data, other.data),
            (self, other),
            lambda g: (_each(lambda a, b: a * b, g, other.data), _each(lambda a, b: a * b, g, self.data)),
        )

    def backward(self, gradient: Any = None) -> None:
        if gradient is None:
            assert self.shape[1] == 1, "columns alone"
            gradient = tuple((1.0,) for _ in self.data)
        self.grad = gradient if self.grad is None else _each(lambda a, b: a + b, self.grad, gradient)
        for parent, part in zip(self.parents, self.rule(gradient) if self.parents else (), strict=True):
            parent.backward(part)


def _each(function: Any, first: Any, second: Any) -> Any:
    assert all(isinstance(rows, (list, tuple)) for rows in (first, second)), "lists alone"
    return tuple(
        tuple(function(a, b) for a, b in zip(row, other, strict=True)) for row, other in zip(first, second, strict=True)
    )
