"""A small autograd, as written over a weekend. It is right; `test_first_screen` plants mistakes in it."""

import numpy as np


class Tensor:
    def __init__(self, data, requires_grad=False, parents=()):
        self.data = np.asarray(data, dtype=float)
        self.requires_grad = requires_grad or any(p.requires_grad for p, _ in parents)
        self.parents = parents
        self.grad = None

    @property
    def shape(self):
        return self.data.shape

    def _order(self):
        seen, order, stack = set(), [], [(self, False)]
        while stack:
            t, done = stack.pop()
            if done:
                order.append(t)
                continue
            if id(t) in seen:
                continue
            seen.add(id(t))
            stack.append((t, True))
            stack += [(p, False) for p, _ in t.parents]
        return order[::-1]

    def backward(self, gradient=None):
        if gradient is None:
            if self.data.size != 1:
                raise RuntimeError("grad can be implicitly created only for scalar outputs")
            gradient = np.ones_like(self.data)
        arrived = {id(self): np.asarray(gradient, dtype=float)}
        for t in self._order():
            g = arrived.pop(id(t), None)
            if g is None or not t.requires_grad:
                continue
            t.grad = g if t.grad is None else t.grad + g
            for parent, share in t.parents:
                if parent.requires_grad:
                    s = share(g)
                    arrived[id(parent)] = arrived[id(parent)] + s if id(parent) in arrived else s

    def __add__(self, other):
        other = as_tensor(other)
        return Tensor(
            self.data + other.data,
            parents=((self, lambda g: unbroadcast(g, self.shape)), (other, lambda g: sent_to(g, other.shape))),
        )

    __radd__ = __add__

    def __mul__(self, other):
        other = as_tensor(other)
        return Tensor(
            self.data * other.data,
            parents=(
                (self, lambda g: unbroadcast(g * other.data, self.shape)),
                (other, lambda g: unbroadcast(g * self.data, other.shape)),
            ),
        )

    __rmul__ = __mul__

    def __neg__(self):
        return Tensor(-self.data, parents=((self, lambda g: -g),))

    def __sub__(self, other):
        return self + (-as_tensor(other))

    def __rsub__(self, other):
        return as_tensor(other) + (-self)

    def __pow__(self, k):
        return Tensor(self.data**k, parents=((self, lambda g: g * k * self.data ** (k - 1)),))

    def __truediv__(self, other):
        other = as_tensor(other)
        return Tensor(
            self.data / other.data,
            parents=(
                (self, lambda g: unbroadcast(g / other.data, self.shape)),
                (other, lambda g: unbroadcast(-g * self.data / other.data**2, other.shape)),
            ),
        )

    def __matmul__(self, other):
        if self.data.ndim != 2 or other.data.ndim != 2:
            raise NotImplementedError("matrices only")
        return Tensor(
            self.data @ other.data,
            parents=(
                (self, lambda g: g @ other.data.T),
                (other, lambda g: self.data.T @ g),
            ),
        )

    @property
    def T(self):  # noqa: N802
        return Tensor(self.data.T, parents=((self, lambda g: g.T),))

    def sum(self, axis=None, keepdims=False):
        def share(g):
            spread = np.broadcast_to
            g = g if axis is None or keepdims else np.expand_dims(g, axis)
            return spread(g, self.shape)

        return Tensor(self.data.sum(axis=axis, keepdims=keepdims), parents=((self, share),))

    def mean(self, axis=None, keepdims=False):
        total = self.sum(axis, keepdims)
        return total * (total.data.size / self.data.size)

    def reshape(self, *shape):
        return Tensor(self.data.reshape(*shape), parents=((self, lambda g: g.reshape(self.shape)),))

    def exp(self):
        out = np.exp(self.data)
        return Tensor(out, parents=((self, lambda g: g * out),))

    def log(self):
        return Tensor(np.log(self.data), parents=((self, lambda g: g / self.data),))

    def tanh(self):
        out = np.tanh(self.data)
        return Tensor(out, parents=((self, lambda g: g * (1 - out**2)),))

    def relu(self):
        return Tensor(np.maximum(self.data, 0), parents=((self, lambda g: g * (self.data > 0)),))


def as_tensor(x):
    return x if isinstance(x, Tensor) else Tensor(x)


def unbroadcast(g, shape):
    while g.ndim > len(shape):
        g = g.sum(axis=0)
    for axis, size in enumerate(shape):
        if size == 1 and g.shape[axis] != 1:
            g = g.sum(axis=axis, keepdims=True)
    return g


sent_to = unbroadcast
