"""Matrices as lists of lists, without NumPy; recursion waits for every child."""

import math


class Matrix:
    def __init__(self, data, requires_grad=True):
        self.data = [[float(x) for x in row] for row in data] if nested(data) else wrap(data)
        self.requires_grad = requires_grad
        self.grad = None
        self.parents, self.pull = (), None
        self.waiting = 0

    @property
    def shape(self):
        return len(self.data), len(self.data[0])

    def _new(self, data, parents, pull):
        out = Matrix(data)
        out.parents, out.pull = parents, pull
        return out

    def __add__(self, other):
        return self._new(zipped(lambda x, y: x + y, self.data, other.data), (self, other), lambda g: (g, g))

    def __sub__(self, other):
        def pull(g):
            return g, mapped(lambda x: -x, g)

        return self._new(zipped(lambda x, y: x - y, self.data, other.data), (self, other), pull)

    def __mul__(self, other):
        def pull(g):
            return times(g, other.data), times(g, self.data)

        return self._new(times(self.data, other.data), (self, other), pull)

    def __neg__(self):
        return self._new(mapped(lambda x: -x, self.data), (self,), lambda g: (mapped(lambda x: -x, g),))

    def __matmul__(self, other):
        def pull(g):
            return product(g, flipped(other.data)), product(flipped(self.data), g)
            # transpose: return product(g, other.data), product(flipped(self.data), g)

        return self._new(product(self.data, other.data), (self, other), pull)

    def transpose(self):
        return self._new(flipped(self.data), (self,), lambda g: (flipped(g),))

    def sum(self):
        rows, columns = self.shape
        return self._new([[sum(map(sum, self.data))]], (self,), lambda g: ([[g[0][0]] * columns for _ in range(rows)],))

    def exp(self):
        e = mapped(math.exp, self.data)
        return self._new(e, (self,), lambda g: (times(g, e),))

    def relu(self):
        on = mapped(lambda x: float(x > 0), self.data)
        # relu: on = mapped(lambda x: float(x >= 0), self.data)
        return self._new(times(self.data, on), (self,), lambda g: (times(g, on),))

    def zero_grad(self):
        self.grad = None
        # zeroing: self.gradients = None

    def count(self):
        self.waiting += 1
        if self.waiting > 1:
            # early: if self.waiting > 1 and not setattr(self, "waiting", 1):
            return
        for parent in self.parents:
            parent.count()

    def backward(self, g=None):
        inbox = {}
        self.count()
        self.receive([[1.0] * self.shape[1] for _ in self.data] if g is None else list(map(list, g)), inbox)

    def receive(self, g, inbox):
        inbox[self] = zipped(lambda x, y: x + y, inbox[self], g) if self in inbox else g
        # overwritten: inbox[self] = g
        self.waiting -= 1
        if self.waiting:
            # twice: if False:
            return
        total = inbox[self]
        self.grad = total if self.grad is None else zipped(lambda x, y: x + y, self.grad, total)
        # left_over: self.grad = total = total if self.grad is None else zipped(lambda x, y: x + y, self.grad, total)
        if self.pull:
            for parent, share in zip(self.parents, self.pull(total)):
                parent.receive(share, inbox)


def nested(data):
    return hasattr(data, "__len__") and len(data) > 0 and hasattr(data[0], "__len__")


def wrap(data):
    return [[float(x) for x in data]] if hasattr(data, "__len__") else [[float(data)]]


def zipped(f, a, b):
    if (len(a), len(a[0])) != (len(b), len(b[0])):
        raise ValueError("sizes differ")
    return [[f(x, y) for x, y in zip(row, other, strict=True)] for row, other in zip(a, b, strict=True)]


def mapped(f, a):
    return [[f(x) for x in row] for row in a]


def times(a, b):
    return zipped(lambda x, y: x * y, a, b)


def flipped(a):
    return [list(column) for column in zip(*a)]


def product(a, b):
    if len(a[0]) != len(b):
        raise ValueError("sizes do not go together")
    columns = flipped(b)
    return [[sum(x * y for x, y in zip(row, column, strict=True)) for column in columns] for row in a]
