"""Functions with a context that saves tensors, registered as methods; a pass goes over a deep walk, once."""

from functools import partialmethod

import numpy as np


class Tensor:
    def __init__(self, data, requires_grad=True):
        self.data = np.asarray(data, dtype=np.float64)
        self.requires_grad = requires_grad
        self.grad = None
        self._ctx = None

    @property
    def shape(self):
        return self.data.shape

    @property
    def T(self):
        return self.transpose()

    def deepwalk(self):
        nodes, visited = [], set()

        def _deepwalk(node):
            visited.add(node)
            if node._ctx:
                for i in node._ctx.parents:
                    if i not in visited:
                        _deepwalk(i)
                nodes.append(node)

        _deepwalk(self)
        return nodes
        # early: return widewalk(self)[::-1]

    def backward(self, seed=None):
        self.grad = Tensor(np.ones(self.shape) if seed is None else seed, requires_grad=False)
        for t0 in reversed(self.deepwalk()):
            if t0.grad is None:
                continue
            grads = t0._ctx.backward(t0.grad.data)
            grads = [grads] if len(t0._ctx.parents) == 1 else grads
            for t, g in zip(t0._ctx.parents, grads):
                if g is not None and t.requires_grad:
                    t.grad = Tensor(g if t.grad is None else t.grad.data + g, requires_grad=False)
                    # overwritten: t.grad = Tensor(g, requires_grad=False)
            if t0 is not self:
                # left_over: if False:
                t0.grad = None

    def zero_grad(self):
        self.grad = None
        # zeroing: return

    def __neg__(self):
        return self.mul(Tensor(-1.0, requires_grad=False))

    def __truediv__(self, x):
        return self.mul(ensure(x).pow(-1))

    def __add__(self, x):
        return self.add(ensure(x))

    def __sub__(self, x):
        return self.sub(ensure(x))

    def __mul__(self, x):
        return self.mul(ensure(x))

    def __pow__(self, n):
        return self.pow(n)

    def __matmul__(self, x):
        return self.dot(x)

    __radd__ = __add__
    __rmul__ = __mul__


class Function:
    def __init__(self, parents):
        self.parents, self.saved_tensors = parents, ()

    def save_for_backward(self, *x):
        self.saved_tensors = x

    @classmethod
    def apply(cls, *x, **kwargs):
        ctx = cls([t for t in x if isinstance(t, Tensor)])
        numbers = [t.data if isinstance(t, Tensor) else t for t in x]
        ret = Tensor(ctx.forward(*numbers, **kwargs), requires_grad=any(t.requires_grad for t in ctx.parents))
        if ret.requires_grad:
            ret._ctx = ctx
        return ret


def register(name, fxn):
    setattr(Tensor, name, partialmethod(lambda self, *x, **kw: fxn.apply(self, *x, **kw)))


class Add(Function):
    def forward(self, x, y):
        self.save_for_backward(x.shape, y.shape)
        return x + y

    def backward(self, g):
        return tuple(unbroadcast(g, shape) for shape in self.saved_tensors)


class Sub(Function):
    def forward(self, x, y):
        self.save_for_backward(x.shape, y.shape)
        return x - y

    def backward(self, g):
        xs, ys = self.saved_tensors
        return unbroadcast(g, xs), unbroadcast(-g, ys)


class Mul(Function):
    def forward(self, x, y):
        self.save_for_backward(x, y)
        return x * y

    def backward(self, g):
        x, y = self.saved_tensors
        return unbroadcast(y * g, x.shape), unbroadcast(x * g, y.shape)


class Pow(Function):
    def forward(self, x, n):
        self.save_for_backward(x, n)
        return x**n

    def backward(self, g):
        x, n = self.saved_tensors
        return g * n * x ** (n - 1)


class Dot(Function):
    def forward(self, x, w):
        self.save_for_backward(x, w)
        return x.dot(w)

    def backward(self, g):
        x, w = self.saved_tensors
        return g.dot(w.T), x.T.dot(g)
        # transpose: return g.dot(w.T), x.dot(g)


class Sum(Function):
    def forward(self, x, axis=None):
        self.save_for_backward(x.shape, axis)
        return x.sum(axis)

    def backward(self, g):
        shape, axis = self.saved_tensors
        return np.zeros(shape) + (g if axis is None else np.expand_dims(g, axis))


class ReLU(Function):
    def forward(self, x):
        self.save_for_backward(x)
        return np.maximum(x, 0)

    def backward(self, g):
        (x,) = self.saved_tensors
        return g * (x > 0)
        # relu: return g * (x >= 0)


class Exp(Function):
    def forward(self, x):
        y = np.exp(x)
        self.save_for_backward(y)
        return y

    def backward(self, g):
        (y,) = self.saved_tensors
        return g * y


class Transpose(Function):
    def forward(self, x):
        return x.T

    def backward(self, g):
        return g.T


for word, fxn in (("add", Add), ("sub", Sub), ("mul", Mul), ("pow", Pow), ("dot", Dot), ("sum", Sum)):
    register(word, fxn)
for word, fxn in (("relu", ReLU), ("exp", Exp), ("transpose", Transpose)):
    register(word, fxn)


def ensure(x):
    return x if isinstance(x, Tensor) else Tensor(x, requires_grad=False)


def widewalk(root):
    found = [root]
    for node in found:
        found += [p for p in dict.fromkeys(node._ctx.parents) if p._ctx and p not in found]
    return found


def unbroadcast(g, shape):
    if g.shape == shape:
        # broadcast: if True:
        return g
    g = g.sum(axis=tuple(range(g.ndim - len(shape))))
    return g.sum(axis=tuple(i for i, n in enumerate(shape) if n == 1), keepdims=True)
