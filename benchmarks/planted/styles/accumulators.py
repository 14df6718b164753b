"""Nodes of their own lead from gradient function to gradient function; leaves end in one that accumulates."""

import numpy as np


class Accumulate:
    def __init__(self, tensor):
        self.tensor, self.next = tensor, ()

    def __call__(self, g):
        tensor = self.tensor
        tensor.grad = Tensor(g) if tensor.grad is None else Tensor(tensor.grad.data + g)
        # overwritten: tensor.grad = Tensor(g)
        return ()


class Backward:
    def __init__(self, pull, *tensors):
        self.pull, self.tensors = pull, tensors
        self.next = tuple(edge(t) for t in tensors)

    def __call__(self, g):
        return [reduced(share, t.data.shape) for share, t in zip(self.pull(g), self.tensors)]


def edge(tensor):
    if tensor.grad_fn is None and tensor.requires_grad:
        if tensor.accumulator is None:
            tensor.accumulator = Accumulate(tensor)
        return tensor.accumulator
    return tensor.grad_fn


def reduced(g, shape):
    ones = (1,) * (g.ndim - len(shape)) + tuple(shape)
    # broadcast: return g
    axes = tuple(i for i, (n, m) in enumerate(zip(ones, g.shape)) if n == 1 and m != 1)
    return g.sum(axis=axes, keepdims=True).reshape(shape)


class Tensor:
    def __init__(self, data, requires_grad=False):
        self.data = np.array(data, dtype="float64")
        self.requires_grad = requires_grad
        self.grad = self.grad_fn = self.accumulator = None

    @property
    def shape(self):
        return self.data.shape

    @staticmethod
    def made(data, pull, *tensors):
        out = Tensor(data, any(t.requires_grad for t in tensors))
        if out.requires_grad:
            out.grad_fn = Backward(pull, *tensors)
        return out

    def __add__(self, other):
        other = constant(other)
        return Tensor.made(self.data + other.data, lambda g: (g, g), self, other)

    def __sub__(self, other):
        other = constant(other)
        return Tensor.made(self.data - other.data, lambda g: (g, -g), self, other)

    def __mul__(self, other):
        other = constant(other)
        return Tensor.made(self.data * other.data, lambda g: (g * other.data, g * self.data), self, other)

    def __neg__(self):
        return Tensor.made(-self.data, lambda g: (-g,), self)

    def __pow__(self, n):
        return Tensor.made(self.data**n, lambda g: (g * n * self.data ** (n - 1),), self)

    def matmul(self, other):
        def pull(g):
            return g @ other.data.T, self.data.T @ g
            # transpose: return g @ other.data, self.data.T @ g

        return Tensor.made(self.data @ other.data, pull, self, other)

    __matmul__ = matmul
    __radd__ = __add__
    __rmul__ = __mul__

    def t(self):
        return Tensor.made(self.data.T, lambda g: (g.T,), self)

    def sum(self, dim=None, keepdim=False):
        def pull(g):
            wide = g if dim is None or keepdim else np.expand_dims(g, dim)
            return (np.broadcast_to(wide, self.shape),)

        return Tensor.made(self.data.sum(axis=dim, keepdims=keepdim), pull, self)

    def relu(self):
        keep = np.greater(self.data, 0)
        # relu: keep = np.greater_equal(self.data, 0)
        return Tensor.made(np.where(keep, self.data, 0), lambda g: (np.where(keep, g, 0),), self)

    def sigmoid(self):
        y = 1 / (1 + np.exp(-self.data))
        return Tensor.made(y, lambda g: (g * y * (1 - y),), self)

    def zero_grad(self):
        if self.grad is not None:
            # zeroing: if self.grad is None:
            self.grad = Tensor(np.zeros(self.shape))

    def backward(self, gradient=None):
        start = edge(self)
        g = np.ones(self.shape) if gradient is None else np.asarray(getattr(gradient, "data", gradient))
        buffers = {start: g}
        for node in order_of(start):
            for following, share in zip(node.next, node(buffers.pop(node))):
                if following is not None:
                    buffers[following] = buffers[following] + share if following in buffers else share
                    # overwritten: buffers[following] = share


def order_of(start):
    order, seen = [], set()

    def visit(node):
        if node in seen:
            return
        seen.add(node)
        for following in node.next:
            if following is not None:
                visit(following)
        order.append(node)

    visit(start)
    return order[::-1]


def constant(x):
    return x if isinstance(x, Tensor) else Tensor(x)
