"""Tensors count in how many ops they are, and recursion goes on where all of these have pushed."""

import numpy as np


class Tensor:
    def __init__(self, data, requires_grad=True, source=None):
        self.data = np.asarray(data, dtype=np.float64)
        self.requires_grad = requires_grad
        self.source = source
        self.grad = None
        self.uses = self.pushed = 0
        self.pending = None

    def used(self):
        self.uses += 1
        return self

    def backward(self, gradient=None, first=True):
        if first:
            self.prepare(set())
            gradient = np.ones_like(self.data) if gradient is None else np.asarray(gradient, dtype=float)
            self.uses = 1
        self.pending = gradient if self.pending is None else self.pending + gradient
        # overwritten: self.pending = gradient
        self.pushed += 1
        if self.pushed < self.uses:
            # early: if self.pushed > 1:
            # twice: if False:
            return
        total, self.pending = self.pending, None
        # twice: total = self.pending
        # early: total = self.pending
        self.grad = total if self.grad is None else self.grad + total
        # left_over: self.grad = total = total if self.grad is None else self.grad + total
        # twice: self.grad = total
        if self.source:
            pull, operands = self.source
            for operand, share in zip(operands, pull(total)):
                operand.backward(narrow(share, operand.data.shape), first=False)

    def prepare(self, seen):
        self.uses, self.pushed, self.pending = 0, 0, None
        if self not in seen:
            seen.add(self)
            for operand in self.source[1] if self.source else ():
                operand.prepare(seen)
            self.recount(set())

    def recount(self, seen):
        stack, seen = [self], {self}
        found = [self]
        while stack:
            for operand in (stack.pop().source or (None, ()))[1]:
                if operand not in seen:
                    seen.add(operand)
                    stack.append(operand)
                    found.append(operand)
        for tensor in found:
            tensor.uses = 0
        for tensor in found:
            for operand in tensor.source[1] if tensor.source else ():
                operand.uses += 1

    def zero_grad(self):
        self.grad = None
        # zeroing: self.gradient = None

    def __add__(self, other):
        return push(self.data + lift(other).data, lambda g: (g, g), self, lift(other))

    def __sub__(self, other):
        return push(self.data - lift(other).data, lambda g: (g, -g), self, lift(other))

    def __mul__(self, other):
        other = lift(other)
        return push(self.data * other.data, lambda g: (g * other.data, g * self.data), self, other)

    def __matmul__(self, other):
        pull = lambda g: (g @ other.data.T, self.data.T @ g)  # noqa: E731
        # transpose: pull = lambda g: (g @ other.data, self.data.T @ g)
        return push(self.data @ other.data, pull, self, other)

    def __neg__(self):
        return push(-self.data, lambda g: (-g,), self)

    __radd__ = __add__
    __rmul__ = __mul__

    def sum(self, dim=None):
        def pull(g):
            return (np.broadcast_to(g if dim is None else np.expand_dims(g, dim), self.data.shape),)

        return push(self.data.sum(dim), pull, self)

    def sigmoid(self):
        y = 1 / (1 + np.exp(-self.data))
        return push(y, lambda g: (g * y * (1 - y),), self)

    def relu(self):
        on = self.data > 0
        # relu: on = self.data >= 0
        return push(self.data * on, lambda g: (g * on,), self)


def push(data, pull, *operands):
    return Tensor(data, source=(pull, operands))


def lift(x):
    return x if isinstance(x, Tensor) else Tensor(x)


def narrow(g, shape):
    if g.shape != shape:
        # broadcast: if False:
        g = g.sum(axis=tuple(range(g.ndim - len(shape))))
        g = g.sum(axis=tuple(i for i, n in enumerate(shape) if n == 1), keepdims=True).reshape(shape)
    return g
