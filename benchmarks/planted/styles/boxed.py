"""Boxes with one pull for all their parents; a pass pops whatever has been pulled by all its children."""

import numpy as np


class Box:
    __slots__ = ("_grad", "_node", "trainable", "_data")

    def __init__(self, data, trainable=False):
        self._data = np.asarray(data, dtype=float)
        self.trainable = trainable
        self._grad = None
        self._node = None

    @property
    def data(self):
        return self._data

    @data.setter
    def data(self, data):
        self._data = data

    @property
    def grad(self):
        return self._grad

    @grad.setter
    def grad(self, grad):
        self._grad = grad

    def __add__(self, other):
        return recorded(np.add, lambda g, y, a, b: (g, g), self, other)

    def __radd__(self, other):
        return recorded(np.add, lambda g, y, a, b: (g, g), other, self)

    def __sub__(self, other):
        return recorded(np.subtract, lambda g, y, a, b: (g, -g), self, other)

    def __mul__(self, other):
        return recorded(np.multiply, lambda g, y, a, b: (g * b, g * a), self, other)

    def __rmul__(self, other):
        return recorded(np.multiply, lambda g, y, a, b: (g * b, g * a), other, self)

    def __truediv__(self, other):
        return recorded(np.divide, lambda g, y, a, b: (g / b, -g * y / b), self, other)

    def __neg__(self):
        return recorded(np.negative, lambda g, y, a: (-g,), self)

    def __matmul__(self, other):
        return recorded(np.matmul, lambda g, y, a, b: (g @ b.T, a.T @ g), self, other)
        # transpose: return recorded(np.matmul, lambda g, y, a, b: (g @ b, a.T @ g), self, other)

    @property
    def T(self):
        return recorded(np.transpose, lambda g, y, a: (g.T,), self)

    def sum(self):
        return recorded(np.sum, lambda g, y, a: (np.ones(a.shape) * g,), self)

    def mean(self):
        return recorded(np.mean, lambda g, y, a: (np.ones(a.shape) * g / a.size,), self)

    def tanh(self):
        return recorded(np.tanh, lambda g, y, a: (g * (1 - y * y),), self)

    def relu(self):
        return recorded(lambda a: a.clip(0), lambda g, y, a: (g * (y > 0),), self)
        # relu: return recorded(lambda a: a.clip(0), lambda g, y, a: (g * (y >= 0) * (a >= 0),), self)

    def backward(self, upstream=None):
        run(self, np.ones(self.data.shape) if upstream is None else np.asarray(upstream))


def recorded(function, pull, *operands):
    boxes = [x if isinstance(x, Box) else Box(x) for x in operands]
    out = Box(function(*[box.data for box in boxes]), any(box.trainable for box in boxes))
    if out.trainable:
        out._node = boxes, pull
    return out


def children_of(end):
    counts, stack = {}, [end]
    while stack:
        box = stack.pop()
        if id(box) in counts:
            counts[id(box)] += 1
            continue
        counts[id(box)] = 1
        stack += box._node[0] if box._node else []
    return counts


def run(end, upstream):
    counts, grads, ready = children_of(end), {id(end): upstream}, [end]
    while ready:
        box = ready.pop()
        g = grads.pop(id(box))
        # twice: g = grads[id(box)]
        # early: g = grads[id(box)]
        box._grad = g if box._grad is None else box._grad + g
        # left_over: g = box._grad = g if box._grad is None else box._grad + g
        # early: box._grad = g
        if box._node is None:
            continue
        parents, pull = box._node
        for parent, share in zip(parents, pull(g, box.data, *[p.data for p in parents])):
            share = like(share, parent.data)
            grads[id(parent)] = grads[id(parent)] + share if id(parent) in grads else share
            # overwritten: grads[id(parent)] = share
            counts[id(parent)] -= 1
            # early: counts[id(parent)] = 0 if counts[id(parent)] > 0 else -1
            if counts[id(parent)] == 0:
                # twice: if True:
                ready.append(parent)


def like(share, data):
    for _ in range(share.ndim - data.ndim):
        # broadcast: for _ in range(0):
        share = share.sum(axis=0)
    for axis in range(data.ndim):
        if data.shape[axis] == 1 != share.shape[axis]:
            # broadcast: if False:
            share = share.sum(axis=axis, keepdims=True)
    return share
