"""Passes that begin in unusual ways: at totals alone, with ones, with an object that they keep and change, or with a
root that keeps no gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


class AtTotals:
    def __init__(self, data: Any, parents: tuple[Any, ...] = ()) -> None:
        self.data, self.parents = np.asarray(data, float), parents
        self.grad = np.zeros(self.data.shape)
        self.pull: Callable[[], None] = lambda: None

    def _made(self, data: Any, parents: tuple[Any, ...], *rules: Callable[[Any], Any]) -> Any:
        out = type(self)(data, parents)

        def pull() -> None:
            for parent, rule in zip(parents, rules, strict=True):
                parent.grad = parent.grad + rule(out.grad)

        out.pull = pull
        return out

    def __add__(self, other: Any) -> Any:
        return self._made(self.data + other.data, (self, other), lambda g: g, lambda g: g)

    def exp(self) -> Any:
        return self._made(np.exp(self.data), (self,), lambda g: g * np.exp(self.data))

    def sum(self) -> Any:
        return self._made(self.data.sum(), (self,), lambda g: g * np.ones(self.data.shape))

    def backward(self) -> None:
        if self.data.ndim:
            raise ValueError("a pass begins at a single number")
        self._pass()

    def _pass(self) -> None:
        order: list[Any] = []

        def visit(tensor: Any) -> None:
            if not any(tensor is one for one in order):
                for parent in tensor.parents:
                    visit(parent)
                order.append(tensor)

        visit(self)
        self.grad = np.ones(self.data.shape)
        for tensor in reversed(order):
            tensor.pull()


class WithOnes(AtTotals):
    sum = None  # type: ignore[assignment]

    def __mul__(self, other: Any) -> Any:
        return type(self)(self.data * other.data, (self, other))

    def backward(self) -> None:
        self._pass()


class WithOnesWrong(WithOnes):
    def exp(self) -> Any:
        return self._made(np.exp(self.data), (self,), lambda g: g * self.data)


class AtTotalsWrong(AtTotals):
    def exp(self) -> Any:
        return self._made(np.exp(self.data), (self,), lambda g: g * self.data)


class Counting:
    """A pass keeps the object that it is given, and adds to it with `+=`, which changes an array and makes a Tensor."""

    def __init__(self, data: Any, parents: tuple[Counting, ...] = ()) -> None:
        self.data, self.parents, self.grad, self.waiting = np.asarray(data, float), parents, None, 0
        for parent in parents:
            parent.waiting += 1

    def __add__(self, other: Counting) -> Counting:
        return Counting(self.data + other.data, (self, other))

    def backward(self, gradient: Any, comes_from_child: bool = False) -> None:
        self.waiting -= comes_from_child
        if self.grad is None:
            self.grad = gradient
        else:
            self.grad += gradient
        if not self.waiting:
            for parent in self.parents:
                parent.backward(self.grad, True)


class Untouched:
    """The root keeps the gradient that it had, if the pass is given one."""

    def __init__(self, data: Any, parents: Any = ()) -> None:
        self.data, self.parents = np.asarray(data, float), parents
        self.grad = np.zeros_like(self.data)

    def __add__(self, other: Untouched) -> Untouched:
        return Untouched(self.data + other.data, ((self, 1.0), (other, 1.0)))

    def __mul__(self, other: Untouched) -> Untouched:
        return Untouched(self.data * other.data, ((self, other.data), (other, self.data)))

    def backward(self, gradient: Any = None) -> None:
        if gradient is None:
            self.grad = gradient = np.ones_like(self.data)
        for parent, factor in self.parents:
            parent.grad = parent.grad + gradient * factor
            parent.backward(gradient * factor)
