"""Leaves that are made of a name, and get their numbers afterwards; values are computed when they are asked for."""

from __future__ import annotations

from typing import Any

import numpy as np


class Named:
    """Its `value()` computes the whole graph anew."""

    def __init__(self, name: str = "") -> None:
        self.name, self.number, self.adjoint = name, float("nan"), 0.0
        self.operands: tuple[Any, ...] = ()

    def assign(self, number: float) -> None:
        self.number = number

    def __add__(self, other: Any) -> Named:
        return made("+", self, other)

    def __mul__(self, other: Any) -> Named:
        return made("*", self, other)

    def order(self) -> list[Named]:
        seen: dict[Named, None] = {}

        def visit(node: Named) -> None:
            if node not in seen:
                for operand in node.operands:
                    visit(operand)
                seen[node] = None

        visit(self)
        return list(seen)

    def value(self) -> float:
        for node in self.order():
            if node.operands:
                a, b = (one.number for one in node.operands)
                node.number = a + b if node.name == "+" else a * b
        return self.number

    def grad(self) -> float:
        return self.adjoint

    def backward(self) -> None:
        order = self.order()
        self.value()
        for node in order:
            node.adjoint = 0.0
        self.adjoint = 1.0
        for node in reversed(order):
            for operand, factor in zip(node.operands, factors(node), strict=False):
                operand.adjoint += node.adjoint * factor


def made(name: str, *operands: Any) -> Named:
    node = Named(name)
    node.operands = tuple(one if isinstance(one, Named) else plain(one) for one in operands)
    return node


def plain(number: float) -> Named:
    node = Named("number")
    node.assign(number)
    return node


def factors(node: Named) -> tuple[float, ...]:
    a, b = (one.number for one in node.operands) if node.operands else (1.0, 1.0)
    return (1.0, 1.0) if node.name == "+" else (b, a)


class Placed:
    """An array that is put into `value`."""

    def __init__(self, name: str) -> None:
        self.name, self.value, self.grad, self.rule = name, None, None, None
        self.operands: tuple[Any, ...] = ()

    def __add__(self, other: Any) -> Placed:
        return self._of(other, self.value + other.value, lambda g: (g, g))

    def __mul__(self, other: Any) -> Placed:
        return self._of(other, self.value * other.value, lambda g: (g * other.value, g * self.value))

    def sum(self) -> Placed:
        return self._of(None, np.sum(self.value), lambda g: (np.full_like(self.value, g),))

    def _of(self, other: Any, value: Any, rule: Any) -> Placed:
        found = Placed("result")
        found.value, found.rule = value, rule
        found.operands = (self,) if other is None else (self, other)
        return found

    def backward(self, gradient: Any = None) -> None:
        gradient = np.ones_like(self.value) if gradient is None else gradient
        self.grad = gradient if self.grad is None else self.grad + gradient
        for operand, share in zip(self.operands, self.rule(gradient) if self.rule else (), strict=False):
            operand.backward(share)
