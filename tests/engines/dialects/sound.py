"""A sound Tensor class with a hook for everything that a style, or a disease, does in its own way."""

from __future__ import annotations

from typing import Any

import numpy as np


class Tensor:
    dtype: Any = np.float64

    def __init__(self, data: Any, parents: Any = (), rule: Any = None) -> None:
        self.data = np.asarray(data, self.dtype)
        self.parents, self.rule, self.grad = parents, rule, None

    # Hooks

    def lifted(self, other: Any) -> Any:
        return other if isinstance(other, Tensor) else self.new(other)

    def new(self, data: Any, parents: Any = (), rule: Any = None) -> Any:
        return type(self)(data, parents, rule)

    def receive(self, gradient: Any) -> None:
        self.grad = gradient if self.grad is None else self.grad + gradient

    def fit(self, gradient: Any, shape: Any) -> Any:
        """Undo broadcasting."""
        gradient = gradient.sum(axis=tuple(range(gradient.ndim - len(shape))))
        stretched = tuple(axis for axis, size in enumerate(shape) if size == 1 and gradient.shape[axis] != 1)
        return gradient.sum(axis=stretched, keepdims=True) if stretched else gradient

    def left_of_matmul(self, gradient: Any, other: Any) -> Any:
        return gradient @ other.data.T

    def passes(self, data: Any) -> Any:
        """Where relu lets a gradient through."""
        return data > 0

    def order(self) -> list[Any]:
        """Every tensor before its parents."""
        found: list[Any] = []
        seen: set[int] = set()
        stack = [(self, False)]
        while stack:
            tensor, done = stack.pop()
            if done:
                found.append(tensor)
            elif id(tensor) not in seen:
                seen.add(id(tensor))
                stack += [(tensor, True), *((parent, False) for parent in tensor.parents)]
        return found[::-1]

    def spread(self, seed: Any) -> None:
        """One pass, apart from all that an earlier one has left."""
        arrived = {id(self): np.asarray(seed, self.dtype)}
        for tensor in self.order():
            gradient = arrived.get(id(tensor))
            if gradient is None:
                continue
            tensor.receive(gradient)
            for parent, part in zip(tensor.parents, tensor.rule(gradient) if tensor.parents else (), strict=True):
                part = self.fit(part, parent.data.shape)
                arrived[id(parent)] = arrived[id(parent)] + part if id(parent) in arrived else part

    def backward(self, gradient: Any = None) -> None:
        self.spread(np.ones(self.data.shape) if gradient is None else gradient)

    # Ops

    def __add__(self, other: Any) -> Any:
        other = self.lifted(other)
        return self.new(self.data + other.data, (self, other), lambda g: (g, g))

    def __mul__(self, other: Any) -> Any:
        other = self.lifted(other)
        return self.new(self.data * other.data, (self, other), lambda g: (g * other.data, g * self.data))

    def __matmul__(self, other: Any) -> Any:
        data = self.data @ other.data
        return self.new(data, (self, other), lambda g: (self.left_of_matmul(g, other), self.data.T @ g))

    def relu(self) -> Any:
        return self.new(np.maximum(self.data, 0), (self,), lambda g: (g * self.passes(self.data),))

    def sum(self) -> Any:
        return self.new(self.data.sum(), (self,), lambda g: (np.broadcast_to(g, self.data.shape).copy(),))

    def __neg__(self) -> Any:
        return self * -1.0

    def __sub__(self, other: Any) -> Any:
        return self + -self.lifted(other)

    __radd__, __rmul__ = __add__, __mul__
