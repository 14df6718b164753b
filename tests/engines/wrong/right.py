"""The sound engine that the wrong ones beside it are made of: nothing in the tests may find fault with it."""

import numpy as np


class Tensor:
    def __init__(self, data, makers=()):
        self.data = np.asarray(data)
        self.makers = makers  # (tensor, what its gradient is, given this one's)
        self.grad = None

    def backward(self, gradient=None):
        arrived = {self: self._seed(gradient)}
        for tensor in self._order():
            whole = arrived.pop(tensor)
            tensor.grad = whole if tensor.grad is None else tensor.grad + whole
            for maker, share in tensor.makers:
                arrived[maker] = arrived[maker] + share(whole) if maker in arrived else share(whole)

    def _seed(self, gradient):
        if gradient is None and self.data.size != 1:
            raise ValueError("only a tensor of one element has a gradient of 1")
        return np.ones_like(self.data) if gradient is None else np.asarray(gradient)

    def _order(self):
        """Every tensor after all that were made from it."""
        waiting, stack, order = {}, [self], []
        seen = {self}
        while stack:
            for maker, _ in stack.pop().makers:
                waiting[maker] = waiting.get(maker, 0) + 1
                if maker not in seen:
                    seen.add(maker)
                    stack.append(maker)
        ready = [self]
        while ready:
            tensor = ready.pop()
            order.append(tensor)
            for maker, _ in tensor.makers:
                waiting[maker] -= 1
                if not waiting[maker]:
                    ready.append(maker)
        return order

    def __add__(self, other):
        other = self._tensor(other)
        return type(self)(
            self.data + other.data,
            [(self, lambda g: unbroadcast(g, self.data.shape)), (other, lambda g: unbroadcast(g, other.data.shape))],
        )

    def __mul__(self, other):
        other = self._tensor(other)
        return type(self)(
            self.data * other.data,
            [
                (self, lambda g: unbroadcast(g * np.conj(other.data), self.data.shape)),
                (other, lambda g: unbroadcast(g * np.conj(self.data), other.data.shape)),
            ],
        )

    def __pow__(self, power):
        return type(self)(self.data**power, [(self, lambda g: g * np.conj(power * self.data ** (power - 1)))])

    def __matmul__(self, other):
        if self.data.ndim != 2 or other.data.ndim != 2:
            raise NotImplementedError("matrices only")
        return type(self)(
            self.data @ other.data,
            [(self, lambda g: g @ other.data.conj().T), (other, lambda g: self.data.conj().T @ g)],
        )

    def sum(self):
        return type(self)(self.data.sum(), [(self, lambda g: np.broadcast_to(g, self.data.shape).copy())])

    def tanh(self):
        result = np.tanh(self.data)
        return type(self)(result, [(self, lambda g: g * np.conj(1 - result**2))])

    def __neg__(self):
        return self * -1

    def __sub__(self, other):
        return self + -self._tensor(other)

    def __radd__(self, other):
        return self + other

    def __rmul__(self, other):
        return self * other

    def _tensor(self, value):
        return value if isinstance(value, Tensor) else type(self)(value)


def unbroadcast(gradient, shape):
    if gradient.shape == shape:
        return gradient
    extra = gradient.ndim - len(shape)
    gradient = gradient.sum(axis=tuple(range(extra)))
    stretched = tuple(axis for axis, size in enumerate(shape) if size == 1 and gradient.shape[axis] != 1)
    return gradient.sum(axis=stretched, keepdims=True) if stretched else gradient
