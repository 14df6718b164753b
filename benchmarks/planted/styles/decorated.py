"""Functions become differentiable by a decorator that is given their gradients; boxes are traced through them."""

from functools import wraps

import numpy as np


class Box:
    def __init__(self, value, needs_grad=True):
        self.value = np.asarray(value, dtype=float)
        self.needs_grad = needs_grad
        self.grad = np.zeros(self.value.shape)
        self.made_by = None

    def __add__(self, other):
        return add(self, other)

    def __sub__(self, other):
        return subtract(self, other)

    def __mul__(self, other):
        return multiply(self, other)

    def __truediv__(self, other):
        return divide(self, other)

    def __neg__(self):
        return negative(self)

    def __matmul__(self, other):
        return matmul(self, other)

    __radd__ = __add__
    __rmul__ = __mul__

    @property
    def T(self):
        return transpose(self)

    def zero_grad(self):
        self.grad = np.zeros(self.value.shape)
        # zeroing: self.grad is not np.zeros(self.value.shape)

    def backward(self, grad=None):
        order = []
        trace(self, order, set())
        gradients = {self: np.ones(self.value.shape) if grad is None else np.asarray(grad, dtype=float)}
        while order:
            box = order.pop()
            # early: box = order.pop(0)
            total = gradients[box]
            box.grad = box.grad + total
            # left_over: total = box.grad = box.grad + total
            if box.made_by:
                boxes, vjps = box.made_by
                for parent, vjp in zip(boxes, vjps):
                    if parent.needs_grad:
                        share = summed(vjp(total, box.value, *[x.value for x in boxes]), parent.value)
                        gradients[parent] = gradients.get(parent, 0) + share
                        # overwritten: gradients[parent] = share
                        # twice: gradients[parent] = gradients.get(parent, 0) + 2 * share


def trace(box, order, seen):
    if box in seen:
        return
    seen.add(box)
    # early: order.append(box)
    for parent in box.made_by[0] if box.made_by else ():
        if parent.needs_grad:
            trace(parent, order, seen)
    order.append(box)
    # early: order[:] = ahead(box, order)


def ahead(box, order):
    found = [box]
    for one in found:
        for parent in one.made_by[0] if one.made_by else ():
            if parent.needs_grad and all(parent is not other for other in found):
                found.append(parent)
    return found


def summed(g, like):
    while np.ndim(g) > like.ndim:
        # broadcast: while False:
        g = g.sum(axis=0)
    for axis, (n, m) in enumerate(zip(like.shape, np.shape(g))):
        if n == 1 and m != 1:
            # broadcast: if False:
            g = g.sum(axis=axis, keepdims=True)
    return g


def differentiable(*vjps):
    def decorate(function):
        @wraps(function)
        def traced(*arguments):
            boxes = [x if isinstance(x, Box) else Box(x, needs_grad=False) for x in arguments]
            out = Box(function(*[box.value for box in boxes]), any(box.needs_grad for box in boxes))
            if out.needs_grad:
                out.made_by = boxes, vjps
            return out

        return traced

    return decorate


add = differentiable(lambda g, y, a, b: g, lambda g, y, a, b: g)(np.add)
subtract = differentiable(lambda g, y, a, b: g, lambda g, y, a, b: -g)(np.subtract)
multiply = differentiable(lambda g, y, a, b: g * b, lambda g, y, a, b: g * a)(np.multiply)
divide = differentiable(lambda g, y, a, b: g / b, lambda g, y, a, b: -g * a / b**2)(np.divide)
negative = differentiable(lambda g, y, a: -g)(np.negative)
matmul = differentiable(lambda g, y, a, b: g @ b.T, lambda g, y, a, b: a.T @ g)(np.matmul)
# transpose: matmul = differentiable(lambda g, y, a, b: g @ b.T, lambda g, y, a, b: a @ g)(np.matmul)
transpose = differentiable(lambda g, y, a: g.T)(np.transpose)
exp = differentiable(lambda g, y, a: g * y)(np.exp)
log = differentiable(lambda g, y, a: g / a)(np.log)
sin = differentiable(lambda g, y, a: g * np.cos(a))(np.sin)


@differentiable(lambda g, y, a: np.full(a.shape, g))
def sum(a):
    return a.sum()


@differentiable(lambda g, y, a: np.where(a > 0, g, 0.0))
# relu: @differentiable(lambda g, y, a: np.where(a < 0, 0.0, g))
def relu(a):
    return np.maximum(a, 0.0)
