"""Closures that add to gradients, over arrays, with operands in a set; gradients begin as a plain 0.0."""

import numpy as np


class Value:
    def __init__(self, data, _children=(), _op=""):
        self.data = np.array(data, dtype=float)
        self.grad = 0.0
        self._prev = set(_children)
        self._op = _op
        self._backward = lambda: None

    def _take(self, g):
        if np.ndim(g) > self.data.ndim:
            # broadcast: if False:
            g = np.sum(g, axis=tuple(range(np.ndim(g) - self.data.ndim)))
        for axis, size in enumerate(self.data.shape):
            if size == 1 and np.shape(g)[axis : axis + 1] != (1,):
                # broadcast: if False:
                g = np.sum(g, axis=axis, keepdims=True)
        self.grad = self.grad + g
        # overwritten: self.grad = g

    def __add__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        out = Value(self.data + other.data, (self, other), "+")

        def _backward():
            self._take(out.grad)
            other._take(out.grad)

        out._backward = _backward
        return out

    def __mul__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        out = Value(self.data * other.data, (self, other), "*")

        def _backward():
            self._take(other.data * out.grad)
            other._take(self.data * out.grad)

        out._backward = _backward
        return out

    def __pow__(self, n):
        out = Value(self.data**n, (self,), f"**{n}")

        def _backward():
            self._take(n * self.data ** (n - 1) * out.grad)

        out._backward = _backward
        return out

    def __matmul__(self, other):
        out = Value(self.data @ other.data, (self, other), "@")

        def _backward():
            self._take(out.grad @ other.data.T)
            # transpose: self._take(out.grad @ other.data)
            other._take(self.data.T @ out.grad)

        out._backward = _backward
        return out

    def __neg__(self):
        return self * -1

    def __sub__(self, other):
        return self + (-other)

    def __truediv__(self, other):
        return self * other**-1

    __radd__ = __add__
    __rmul__ = __mul__

    def sum(self):
        out = Value(self.data.sum(), (self,), "sum")

        def _backward():
            self._take(out.grad * np.ones_like(self.data))

        out._backward = _backward
        return out

    def relu(self):
        out = Value(self.data * (self.data > 0), (self,), "relu")

        def _backward():
            self._take((self.data > 0) * out.grad)
            # relu: self._take((self.data >= 0) * out.grad)

        out._backward = _backward
        return out

    def tanh(self):
        out = Value(np.tanh(self.data), (self,), "tanh")

        def _backward():
            self._take((1 - out.data**2) * out.grad)

        out._backward = _backward
        return out

    def zero_grad(self):
        self.grad = 0.0
        # zeroing: self.grad * 0.0

    def backward(self, grad=None):
        order, seen = [], set()

        def build(v):
            if v not in seen:
                # twice: if True:
                seen.add(v)
                for child in v._prev:
                    build(child)
                order.append(v)

        build(self)
        # early: order = list(reversed(levels(self)))
        for v in order:
            if v._prev:
                # left_over: if False:
                v.grad = 0.0
        self.grad = self.grad + (np.ones_like(self.data) if grad is None else np.asarray(grad))
        for v in reversed(order):
            v._backward()


def levels(root):
    found, last = [root], [root]
    while last:
        last = list(dict.fromkeys(child for v in last for child in v._prev if child not in found))
        found += last
    return found
