"""A class that can only add, as the first of a book's, in three states: overwriting, adding up, counting children.

Gradients are tensors, and given as such; in the last, a tensor passes its gradient on when all children have sent
theirs.
"""

from __future__ import annotations

from typing import Any

import numpy as np


class Overwriting:
    def __init__(self, data: Any, creators: Any = None, creation_op: Any = None) -> None:
        self.data = np.array(data)
        self.creators, self.creation_op, self.grad = creators, creation_op, None

    def backward(self, grad: Any) -> None:
        self.grad = grad
        for creator in self.creators or ():
            creator.backward(grad)

    def __add__(self, other: Any) -> Any:
        return type(self)(self.data + other.data, creators=[self, other], creation_op="add")


class Adding(Overwriting):
    def backward(self, grad: Any) -> None:
        self.grad = grad if self.grad is None else self.grad + grad
        for creator in self.creators or ():
            creator.backward(grad)


class Counting(Overwriting):
    def __init__(self, data: Any, creators: Any = None, creation_op: Any = None) -> None:
        super().__init__(data, creators, creation_op)
        self.waiting = 0
        for creator in creators or ():
            creator.waiting += 1

    def backward(self, grad: Any = None, grad_origin: Any = None) -> None:
        if grad_origin is not None:
            self.waiting -= 1
        grad = Counting(np.ones_like(self.data)) if grad is None else grad
        self.grad = grad if self.grad is None else Counting(self.grad.data + grad.data)
        if self.waiting == 0 or grad_origin is None:
            for creator in self.creators or ():
                creator.backward(self.grad, self)


class Tape:
    """An op is written down in its own operand, which becomes the result."""

    def __init__(self, data: Any) -> None:
        self.data, self.grad, self.tape = np.asarray(data), None, []  # type: ignore[var-annotated]

    def _becomes(self, data: Any, rule: Any) -> Any:
        self.data = data
        self.tape.append(rule)
        return self

    def __add__(self, other: Any) -> Any:
        return self._becomes(self.data + other.data, lambda g: g)

    def __mul__(self, other: Any) -> Any:
        return self._becomes(self.data * other.data, lambda g: g * other.data)

    def sum(self) -> Any:
        shape = self.data.shape
        return self._becomes(self.data.sum(), lambda g: np.broadcast_to(g, shape))

    def backward(self) -> None:
        self.grad = np.ones(self.data.shape)
        while self.tape:
            self.grad = self.tape.pop()(self.grad)
