"""Every op is a class of tensors, which knows its operands and how to pass a gradient on."""

import numpy as np


class Tensor:
    def __init__(self, data):
        self.data = np.array(data, dtype=float)
        self.operands = ()
        self.gradient = None

    def local(self, g):
        return ()

    def __add__(self, other):
        return Plus(self, other)

    def __sub__(self, other):
        return Minus(self, other)

    def __mul__(self, other):
        return Times(self, other)

    def __neg__(self):
        return Negated(self)

    def __matmul__(self, other):
        return Dot(self, other)

    def __pow__(self, n):
        return Power(self, n=n)

    def mean(self):
        return Mean(self)

    def sum(self):
        return Sum(self)

    def relu(self):
        return Rectifier(self)

    def tanh(self):
        return Tanh(self)

    def zero_gradient(self):
        self.gradient = None
        # zeroing: self.gradients = None

    def backward(self, gradient=None):
        for tensor in self.sorted():
            if tensor.operands:
                # left_over: if False:
                tensor.gradient = None
        self.take(np.ones(self.data.shape) if gradient is None else np.asarray(gradient))
        for tensor in self.sorted():
            for operand, share in zip(tensor.operands, tensor.local(tensor.gradient)):
                operand.take(share)

    def take(self, g):
        extra = tuple(range(g.ndim - self.data.ndim))
        g = g.sum(axis=extra) if extra else g
        # broadcast: g = g + 0
        for axis in range(self.data.ndim):
            if self.data.shape[axis] == 1 and g.shape[axis] != 1:
                # broadcast: if False:
                g = g.sum(axis=axis, keepdims=True)
        self.gradient = g if self.gradient is None else self.gradient + g
        # overwritten: self.gradient = g
        # twice: self.gradient = g if self.gradient is None else self.gradient + 2 * g

    def sorted(self):
        order, marks = [], set()

        def mark(tensor):
            if tensor not in marks:
                marks.add(tensor)
                for operand in reversed(tensor.operands):
                    mark(operand)
                order.insert(0, tensor)

        mark(self)
        return order
        # early: return wide(self)


class Made(Tensor):
    def __init__(self, *operands, **settings):
        self.settings = settings
        operands = [x if isinstance(x, Tensor) else Tensor(x) for x in operands]
        super().__init__(self.value(*[x.data for x in operands]))
        self.operands = tuple(operands)


class Plus(Made):
    def value(self, a, b):
        return a + b

    def local(self, g):
        return g, g


class Minus(Made):
    def value(self, a, b):
        return a - b

    def local(self, g):
        return g, -g


class Times(Made):
    def value(self, a, b):
        return a * b

    def local(self, g):
        a, b = self.operands
        return g * b.data, g * a.data


class Negated(Made):
    def value(self, a):
        return -a

    def local(self, g):
        return (-g,)


class Dot(Made):
    def value(self, a, b):
        return a.dot(b)

    def local(self, g):
        a, b = self.operands
        return g.dot(b.data.T), a.data.T.dot(g)
        # transpose: return g.dot(b.data), a.data.T.dot(g)


class Power(Made):
    def value(self, a):
        return a ** self.settings["n"]

    def local(self, g):
        n = self.settings["n"]
        return (g * n * self.operands[0].data ** (n - 1),)


class Mean(Made):
    def value(self, a):
        return a.mean()

    def local(self, g):
        a = self.operands[0].data
        return (np.full(a.shape, g / a.size),)


class Sum(Made):
    def value(self, a):
        return a.sum()

    def local(self, g):
        return (np.full(self.operands[0].data.shape, g),)


class Rectifier(Made):
    def value(self, a):
        return np.where(a > 0, a, 0)

    def local(self, g):
        return (np.where(self.operands[0].data > 0, g, 0),)
        # relu: return (np.where(self.operands[0].data >= 0, g, 0),)


class Tanh(Made):
    def value(self, a):
        return np.tanh(a)

    def local(self, g):
        return (g * (1 - self.data**2),)


def wide(root):
    found, seen = [root], {root}
    for tensor in found:
        for operand in tensor.operands:
            if operand not in seen:
                seen.add(operand)
                found.append(operand)
    return found
