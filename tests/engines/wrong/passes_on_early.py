"""Wrong on purpose: a tensor passes its gradient on when the first of its children has reported, not the last."""

import numpy as np


class Tensor:
    def __init__(self, data, makers=()):
        self.data = np.asarray(data)
        self.makers = makers  # (tensor, what its gradient is, given this one's)
        self.grad = None

    def backward(self, gradient=None):
        if gradient is None and self.data.size != 1:
            raise ValueError("only a tensor of one element has a gradient of 1")
        self._receive(np.ones_like(self.data) if gradient is None else np.asarray(gradient))
        queue, seen = [self], {self}
        while queue:  # breadth first, each once: too early for whoever is reached by paths of different lengths
            tensor = queue.pop(0)
            for maker, share in tensor.makers:
                maker._receive(share(tensor.grad))
                if maker not in seen:
                    seen.add(maker)
                    queue.append(maker)

    def _receive(self, gradient):
        self.grad = gradient if self.grad is None else self.grad + gradient

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
