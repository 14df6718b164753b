"""Nothing is kept in variables: a function gives back a dictionary of gradients, by paths with local gradients."""

from collections import defaultdict

import numpy as np


class Variable:
    def __init__(self, value, local_gradients=()):
        self.value = np.asarray(value, dtype=float)
        self.local_gradients = local_gradients

    def __add__(self, other):
        return add(self, other)

    def __sub__(self, other):
        return add(self, neg(other))

    def __mul__(self, other):
        return mul(self, other)

    def __truediv__(self, other):
        return mul(self, inv(other))

    def __neg__(self):
        return neg(self)

    def __matmul__(self, other):
        return matmul(self, other)


def add(a, b):
    pairs = ((a, lambda g: to_shape(g, a)), (b, lambda g: to_shape(g, b)))
    return Variable(a.value + b.value, pairs)


def mul(a, b):
    pairs = ((a, lambda g: to_shape(g * b.value, a)), (b, lambda g: to_shape(g * a.value, b)))
    return Variable(a.value * b.value, pairs)


def neg(a):
    return Variable(-a.value, ((a, lambda g: -g),))


def inv(a):
    return Variable(1 / a.value, ((a, lambda g: -g / a.value**2),))


def exp(a):
    e = np.exp(a.value)
    return Variable(e, ((a, lambda g: g * e),))


def log(a):
    return Variable(np.log(a.value), ((a, lambda g: g / a.value),))


def relu(a):
    on = (a.value > 0).astype(float)
    # relu: on = (a.value >= 0).astype(float)
    return Variable(a.value * on, ((a, lambda g: g * on),))


def matmul(a, b):
    pairs = ((a, lambda g: g @ b.value.T), (b, lambda g: a.value.T @ g))
    # transpose: pairs = ((a, lambda g: g @ b.value), (b, lambda g: a.value.T @ g))
    return Variable(a.value @ b.value, pairs)


def sum(a):
    return Variable(np.sum(a.value), ((a, lambda g: g * np.ones(a.value.shape)),))


def to_shape(g, like):
    shape = like.value.shape
    # broadcast: return g
    while g.ndim > len(shape):
        g = g.sum(0)
    for i, n in enumerate(shape):
        g = g.sum(i, keepdims=True) if n == 1 else g
    return g


def get_gradients(variable):
    gradients = defaultdict(lambda: 0)

    def walk(node, path_value):
        for child, local in node.local_gradients:
            along = local(path_value)
            gradients[child] = gradients[child] + along
            # overwritten: gradients[child] = along
            walk(child, along)
            # twice: walk(child, gradients[child])
            # early: walk(child, along) if child not in met and not met.add(child) else None

    gradients[variable] = np.ones(variable.value.shape)
    met = set()
    walk(variable, gradients[variable])
    return gradients
