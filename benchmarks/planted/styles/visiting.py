"""Layers of a graph as objects that visit their operands; arrays in single precision; gradients added in place."""

import numpy as np


class Tensor:
    def __init__(self, array, is_leaf=True, dtype=np.float32):
        self.array = np.asarray(array, dtype)
        self.gradient = np.zeros_like(self.array)
        self.is_leaf = is_leaf
        self.origin = None

    def zero_grad(self):
        self.gradient = np.zeros_like(self.array)
        # zeroing: gradient = np.zeros_like(self.array)

    def add_gradient(self, g):
        g = np.asarray(g)
        while g.ndim > self.array.ndim:
            # broadcast: while False:
            g = g.sum(axis=0)
        for axis, size in enumerate(self.array.shape):
            if size == 1:
                # broadcast: if False:
                g = g.sum(axis=axis, keepdims=True)
        self.gradient += g
        # overwritten: self.gradient = g
        # broadcast: self.gradient = self.gradient + g
        # twice: self.gradient += g + g

    def __add__(self, other):
        return Sum2(self, other).output

    def __sub__(self, other):
        return Difference(self, other).output

    def __mul__(self, other):
        return Product(self, other).output

    def __neg__(self):
        return Negative(self).output

    def __matmul__(self, other):
        return MatrixProduct(self, other).output

    def sum(self):
        return Total(self).output

    def relu(self):
        return Rectified(self).output

    def exp(self):
        return Exponential(self).output

    def backward(self, gradient=None):
        for tensor in above(self):
            if tensor.origin is not None:
                # left_over: if False:
                tensor.gradient = np.zeros_like(tensor.array)
        self.add_gradient(np.ones_like(self.array) if gradient is None else np.asarray(gradient, self.array.dtype))
        for tensor in above(self):
            if tensor.origin is not None:
                tensor.origin.backward(tensor.gradient)


class Step:
    def __init__(self, *operands):
        self.operands = [x if isinstance(x, Tensor) else Tensor(x) for x in operands]
        self.output = Tensor(self.forward(*[x.array for x in self.operands]), is_leaf=False)
        self.output.origin = self

    def backward(self, g):
        for operand, share in zip(self.operands, self.shares(g, *[x.array for x in self.operands])):
            operand.add_gradient(share)


class Sum2(Step):
    def forward(self, a, b):
        return a + b

    def shares(self, g, a, b):
        return g, g


class Difference(Step):
    def forward(self, a, b):
        return a - b

    def shares(self, g, a, b):
        return g, -g


class Product(Step):
    def forward(self, a, b):
        return a * b

    def shares(self, g, a, b):
        return g * b, g * a


class Negative(Step):
    def forward(self, a):
        return -a

    def shares(self, g, a):
        return (-g,)


class MatrixProduct(Step):
    def forward(self, a, b):
        return a @ b

    def shares(self, g, a, b):
        return g @ np.transpose(b), np.transpose(a) @ g
        # transpose: return g @ np.transpose(b), a @ g


class Total(Step):
    def forward(self, a):
        return a.sum()

    def shares(self, g, a):
        return (np.full_like(a, g),)


class Rectified(Step):
    def forward(self, a):
        return np.maximum(a, 0)

    def shares(self, g, a):
        return (np.where(a > 0, g, 0),)
        # relu: return (np.where(a < 0, 0, g),)


class Exponential(Step):
    def forward(self, a):
        return np.exp(a)

    def shares(self, g, a):
        return (g * self.output.array,)


def above(root):
    order, seen = [], set()

    def visit(tensor):
        if id(tensor) in seen:
            return
        seen.add(id(tensor))
        for operand in tensor.origin.operands if tensor.origin else ():
            visit(operand)
        order.append(tensor)

    visit(root)
    return order[::-1]
    # early: return breadth(root)


def breadth(root):
    found, ids = [root], {id(root)}
    for tensor in found:
        for operand in tensor.origin.operands if tensor.origin else ():
            if id(operand) not in ids:
                ids.add(id(operand))
                found.append(operand)
    return found
