"""Wrong on purpose: the backward pass calls itself for every tensor, so that long graphs end in a RecursionError."""

import numpy as np


class Tensor:
    def __init__(self, data, makers=()):
        self.data = np.asarray(data)
        self.makers = makers  # (tensor, what its gradient is, given this one's)
        self.grad = None

    def backward(self, gradient=None):
        if gradient is None and self.data.size != 1:
            raise ValueError("only a tensor of one element has a gradient of 1")
        order = []
        self._visit(set(), order)
        arrived = {self: np.ones_like(self.data) if gradient is None else np.asarray(gradient)}
        for tensor in reversed(order):
            whole = arrived.pop(tensor)
            tensor.grad = whole if tensor.grad is None else tensor.grad + whole
            for maker, share in tensor.makers:
                arrived[maker] = arrived[maker] + share(whole) if maker in arrived else share(whole)

    def _visit(self, seen, order):
        if self in seen:
            return
        seen.add(self)
        for maker, _ in self.makers:
            maker._visit(seen, order)
        order.append(self)

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
