"""Ops that are classes: applied, made and then called with tensors or a list of them, or tensors themselves."""

from __future__ import annotations

from typing import Any

import numpy as np


class Variable:
    """What is computed only has a parent, the op that made it."""

    def __init__(self, data: Any, parent: Any = None, stop_grad: bool = False) -> None:
        self.data, self.parent, self.stop_grad = np.asarray(data, float), parent, stop_grad
        self.grad: Any = None

    def backward(self, gradient: Any = None) -> None:
        gradient = np.ones(self.data.shape) if gradient is None else gradient
        self.grad = gradient if self.grad is None else self.grad + gradient
        if self.parent is not None:
            self.parent.backward(gradient)


class Operation:
    """Its backward is one op's own, and goes on with what that was given."""

    def __call__(self, *given: Any) -> Variable:
        self.given = given
        return Variable(self.forward(*(one.data for one in given)), self)

    def backward(self, gradient: Any) -> None:
        for one, part in zip(self.given, self.parts(gradient), strict=True):
            if not one.stop_grad:
                one.backward(part)


class TensorAdd(Operation):
    def __call__(self, summands: list[Variable]) -> Variable:  # type: ignore[override]
        return super().__call__(*summands)

    def forward(self, a: Any, b: Any) -> Any:
        return a + b

    def parts(self, gradient: Any) -> Any:
        return gradient, gradient


class Mul(Operation):
    def forward(self, a: Any, b: Any) -> Any:
        return a * b

    def parts(self, gradient: Any) -> Any:
        a, b = self.given
        return gradient * b.data, gradient * a.data


class MatMulOp(Operation):
    @classmethod
    def apply(cls, *given: Variable) -> Variable:
        return cls()(*given)

    def forward(self, a: Any, b: Any) -> Any:
        return a @ b

    def parts(self, gradient: Any) -> Any:
        a, b = self.given
        return gradient @ b.data.T, a.data.T @ gradient


class Power(Operation):
    def __init__(self, exponent: float) -> None:
        self.exponent = exponent

    def forward(self, a: Any) -> Any:
        return a**self.exponent

    def parts(self, gradient: Any) -> Any:
        return (gradient * self.exponent * self.given[0].data ** (self.exponent - 1),)


class Sum(Operation):
    def forward(self, a: Any) -> Any:
        return a.sum()

    def parts(self, gradient: Any) -> Any:
        return (np.full(self.given[0].data.shape, gradient),)


class Exp(Operation):
    """It is another function of this name, and so none of it."""

    def forward(self, a: Any) -> Any:
        return np.exp(a) + 1

    def parts(self, gradient: Any) -> Any:
        return (gradient,)
