"""Variables are numbered as they are made; a heap hands out the latest of those that have a gradient to pass on."""

import heapq
from itertools import count

import numpy as np

_numbers = count()


class Variable:
    def __init__(self, value, parents=(), pulls=()):
        self.value = np.asarray(value, dtype=float)
        self.parents, self.pulls = parents, pulls
        self.number = next(_numbers)
        self.grad = np.zeros_like(self.value)

    def __lt__(self, other):
        return self.number > other.number

    @staticmethod
    def wrap(x):
        return x if isinstance(x, Variable) else Variable(x)

    def __add__(self, other):
        other = Variable.wrap(other)
        return Variable(self.value + other.value, (self, other), (lambda g: g, lambda g: g))

    def __sub__(self, other):
        other = Variable.wrap(other)
        return Variable(self.value - other.value, (self, other), (lambda g: g, lambda g: -g))

    def __mul__(self, other):
        other = Variable.wrap(other)
        return Variable(self.value * other.value, (self, other), (lambda g: g * other.value, lambda g: g * self.value))

    def __truediv__(self, other):
        other = Variable.wrap(other)
        quotient = self.value / other.value
        return Variable(quotient, (self, other), (lambda g: g / other.value, lambda g: -g * quotient / other.value))

    def __pow__(self, exponent):
        return Variable(self.value**exponent, (self,), (lambda g: g * exponent * self.value ** (exponent - 1),))

    def __neg__(self):
        return Variable(-self.value, (self,), (lambda g: -g,))

    def __matmul__(self, other):
        pulls = (lambda g: g @ other.value.T, lambda g: self.value.T @ g)
        # transpose: pulls = (lambda g: g @ other.value.T, lambda g: self.value @ g)
        return Variable(self.value @ other.value, (self, other), pulls)

    __radd__ = __add__
    __rmul__ = __mul__

    @property
    def T(self):
        return Variable(self.value.T, (self,), (lambda g: g.T,))

    def sum(self):
        return Variable(self.value.sum(), (self,), (lambda g: np.broadcast_to(g, self.value.shape),))

    def exp(self):
        power = np.exp(self.value)
        return Variable(power, (self,), (lambda g: g * power,))

    def relu(self):
        mask = self.value > 0
        # relu: mask = self.value >= 0
        return Variable(self.value * mask, (self,), (lambda g: g * mask,))

    def zero_grad(self):
        self.grad = np.zeros_like(self.value)
        # zeroing: np.zeros_like(self.value)

    def backward(self, seed=1.0):
        pending = {self: np.broadcast_to(np.asarray(seed, dtype=float), self.value.shape)}
        heap = [self]
        queued = {self}
        while heap:
            variable = heapq.heappop(heap)
            # early: variable = heap.pop(0)
            g = pending.pop(variable)
            # twice: g = pending[variable]
            variable.grad = variable.grad + g
            # left_over: g = variable.grad = variable.grad + g
            for parent, pull in zip(variable.parents, variable.pulls):
                share = fold(pull(g), parent.value.shape)
                pending[parent] = pending[parent] + share if parent in pending else share
                # overwritten: pending[parent] = share
                if parent not in queued:
                    # twice: if True:
                    queued.add(parent)
                    heapq.heappush(heap, parent)
                    # early: heap.append(parent)


def fold(g, shape):
    while g.ndim > len(shape):
        # broadcast: while False:
        g = g.sum(axis=0)
    for axis, size in enumerate(shape):
        if size == 1 and g.shape[axis] != 1:
            # broadcast: if False:
            g = g.sum(axis=axis, keepdims=True)
    return g
