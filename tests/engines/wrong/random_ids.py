"""Wrong on purpose: tensors are told apart by random numbers, and two of them may draw the same.

There are few numbers here, so that small graphs show it; with more of them it only takes longer.
"""

import random

import numpy as np

_numbers = random.Random(5)


class Tensor:
    def __init__(self, data, makers=()):
        self.data = np.asarray(data)
        self.makers = makers  # (tensor, what its gradient is, given this one's)
        self.grad = None
        self.id = _numbers.randrange(12)

    def backward(self, gradient=None):
        if gradient is None and self.data.size != 1:
            raise ValueError("only a tensor of one element has a gradient of 1")
        arrived = {self.id: np.ones_like(self.data) if gradient is None else np.asarray(gradient)}
        for tensor in self._order():
            whole = arrived.pop(tensor.id)
            tensor.grad = whole if tensor.grad is None else tensor.grad + whole
            for maker, share in tensor.makers:
                arrived[maker.id] = arrived[maker.id] + share(whole) if maker.id in arrived else share(whole)

    def _order(self):
        """Every tensor after all that were made from it."""
        waiting, stack, order = {}, [self], []
        seen = {self.id}
        while stack:
            for maker, _ in stack.pop().makers:
                waiting[maker.id] = waiting.get(maker.id, 0) + 1
                if maker.id not in seen:
                    seen.add(maker.id)
                    stack.append(maker)
        ready = [self]
        while ready:
            tensor = ready.pop()
            order.append(tensor)
            for maker, _ in tensor.makers:
                waiting[maker.id] -= 1
                if not waiting[maker.id]:
                    ready.append(maker)
        return order

    def __add__(self, other):
        other = as_tensor(other)
        return Tensor(
            self.data + other.data,
            [(self, lambda g: unbroadcast(g, self.data.shape)), (other, lambda g: unbroadcast(g, other.data.shape))],
        )

    def __mul__(self, other):
        other = as_tensor(other)
        return Tensor(
            self.data * other.data,
            [
                (self, lambda g: unbroadcast(g * np.conj(other.data), self.data.shape)),
                (other, lambda g: unbroadcast(g * np.conj(self.data), other.data.shape)),
            ],
        )

    def __pow__(self, power):
        return Tensor(self.data**power, [(self, lambda g: g * np.conj(power * self.data ** (power - 1)))])

    def __matmul__(self, other):
        if self.data.ndim != 2 or other.data.ndim != 2:
            raise NotImplementedError("matrices only")
        return Tensor(
            self.data @ other.data,
            [(self, lambda g: g @ other.data.conj().T), (other, lambda g: self.data.conj().T @ g)],
        )

    def sum(self):
        return Tensor(self.data.sum(), [(self, lambda g: np.broadcast_to(g, self.data.shape).copy())])

    def tanh(self):
        result = np.tanh(self.data)
        return Tensor(result, [(self, lambda g: g * np.conj(1 - result**2))])

    def __neg__(self):
        return self * -1

    def __sub__(self, other):
        return self + -as_tensor(other)

    __radd__ = __add__
    __rmul__ = __mul__


def as_tensor(value):
    return value if isinstance(value, Tensor) else Tensor(value)


def unbroadcast(gradient, shape):
    if gradient.shape == shape:
        return gradient
    extra = gradient.ndim - len(shape)
    gradient = gradient.sum(axis=tuple(range(extra)))
    stretched = tuple(axis for axis, size in enumerate(shape) if size == 1 and gradient.shape[axis] != 1)
    return gradient.sum(axis=stretched, keepdims=True) if stretched else gradient
