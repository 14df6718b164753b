"""Passes to which no gradient can be given, of classes without a product by which a root could be weighted: one begins
at totals alone, the other with ones, and its product has a rule that nobody calls."""

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
