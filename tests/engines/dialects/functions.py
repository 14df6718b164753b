"""A class without operators: all that is done to it is a function, and the incoming gradient is assigned."""

from __future__ import annotations

from typing import Any

import numpy as np


class Variable:
    def __init__(self, data: np.ndarray) -> None:
        self.data, self.grad, self.creator = data, None, None

    def backward(self) -> None:
        if self.grad is None:
            self.grad = np.ones_like(self.data)
        waiting = [self]
        while waiting:
            variable = max(waiting, key=lambda one: one.creator[2] if one.creator else 0)
            waiting = [one for one in waiting if one is not variable]
            if variable.creator is None:
                continue
            inputs, rule, _ = variable.creator
            for one, part in zip(inputs, rule(variable.grad), strict=True):
                one.grad = part if one.grad is None else one.grad + part
                waiting.append(one)


def _made(data: Any, inputs: tuple[Variable, ...], rule: Any) -> Variable:
    made = Variable(np.asarray(data))
    made.creator = (inputs, rule, 1 + max(one.creator[2] if one.creator else 0 for one in inputs))  # type: ignore[assignment]
    return made


def add(a: Variable, b: Variable) -> Variable:
    return _made(a.data + b.data, (a, b), lambda g: (g, g))


def mul(a: Variable, b: Variable) -> Variable:
    return _made(a.data * b.data, (a, b), lambda g: (g * b.data, g * a.data))


def exp(a: Variable) -> Variable:
    return _made(np.exp(a.data), (a,), lambda g: (g * np.exp(a.data),))


class Local:
    """What `backward` does is one op's own; a function runs the whole pass."""

    def __init__(self, data: Any, parents: Any = (), rule: Any = None) -> None:
        self.data = np.asarray(data, float)
        self.parents, self.rule, self.grad = parents, rule, np.zeros_like(self.data)

    def backward(self) -> None:
        for parent, part in zip(self.parents, self.rule(self.grad) if self.parents else (), strict=True):
            parent.grad = parent.grad + part

    def __add__(self, other: Any) -> Any:
        return Local(self.data + other.data, (self, other), lambda g: (g, g))

    def __mul__(self, other: Any) -> Any:
        return Local(self.data * other.data, (self, other), lambda g: (g * other.data, g * self.data))

    def sum(self) -> Any:
        return Local(self.data.sum(), (self,), lambda g: (np.full(self.data.shape, g),))


def backward_graph(root: Local) -> None:
    found: list[Local] = []

    def visit(one: Local) -> None:
        if one not in found:
            for parent in one.parents:
                visit(parent)
            found.append(one)

    visit(root)
    root.grad = np.ones_like(root.data)
    for one in reversed(found):
        one.backward()
