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
