"""Functions are nodes; a queue of those whose outputs have all reported, by the number of readers."""

from collections import Counter, deque

import numpy as np


class Function:
    def __init__(self, *inputs):
        self.inputs = inputs

    @classmethod
    def apply(cls, *inputs):
        function = cls(*[x if isinstance(x, Tensor) else Tensor(x) for x in inputs])
        needs = any(x.requires_grad for x in function.inputs)
        out = Tensor(function.forward(*[x.data for x in function.inputs]), requires_grad=needs)
        out.fn = function if needs else None
        return out


class Add(Function):
    def forward(self, a, b):
        return a + b

    def backward(self, grad):
        return grad, grad


class Mul(Function):
    def forward(self, a, b):
        return a * b

    def backward(self, grad):
        a, b = self.inputs
        return grad * b.data, grad * a.data


class Div(Function):
    def forward(self, a, b):
        return a / b

    def backward(self, grad):
        a, b = self.inputs
        return grad / b.data, -grad * a.data / b.data**2


class Neg(Function):
    def forward(self, a):
        return -a

    def backward(self, grad):
        return (-grad,)


class MatMul(Function):
    def forward(self, a, b):
        return a @ b

    def backward(self, grad):
        a, b = self.inputs
        return grad @ b.data.T, a.data.T @ grad
        # transpose: return grad @ b.data, a.data.T @ grad


class Sum(Function):
    def forward(self, a):
        return a.sum()

    def backward(self, grad):
        return (np.full(self.inputs[0].data.shape, grad),)


class ReLU(Function):
    def forward(self, a):
        return np.where(a > 0, a, 0.0)

    def backward(self, grad):
        return (np.where(self.inputs[0].data > 0, grad, 0.0),)
        # relu: return (np.where(self.inputs[0].data >= 0, grad, 0.0),)


class Tanh(Function):
    def forward(self, a):
        self.out = np.tanh(a)
        return self.out

    def backward(self, grad):
        return (grad * (1 - self.out**2),)


class Tensor:
    def __init__(self, data, requires_grad=False):
        self.data = np.array(data, dtype=np.float64)
        self.requires_grad = requires_grad
        self.grad = None
        self.fn = None

    def __add__(self, other):
        return Add.apply(self, other)

    def __radd__(self, other):
        return Add.apply(other, self)

    def __mul__(self, other):
        return Mul.apply(self, other)

    def __rmul__(self, other):
        return Mul.apply(other, self)

    def __sub__(self, other):
        return Add.apply(self, Neg.apply(other))

    def __truediv__(self, other):
        return Div.apply(self, other)

    def __neg__(self):
        return Neg.apply(self)

    def __matmul__(self, other):
        return MatMul.apply(self, other)

    def sum(self):
        return Sum.apply(self)

    def relu(self):
        return ReLU.apply(self)

    def tanh(self):
        return Tanh.apply(self)

    def zero_grad(self):
        self.grad = None
        # zeroing: self.gradient = None

    def backward(self, grad=None):
        readers = Counter()
        seen, queue = {self}, deque([self])
        while queue:
            tensor = queue.popleft()
            for x in tensor.fn.inputs if tensor.fn else ():
                readers[x] += 1
                if x not in seen:
                    seen.add(x)
                    queue.append(x)
        arrived = {self: np.ones_like(self.data) if grad is None else np.asarray(grad)}
        ready = deque([self])
        while ready:
            tensor = ready.popleft()
            total = arrived[tensor]
            tensor.grad = total if tensor.grad is None else tensor.grad + total
            # left_over: tensor.grad = total = total if tensor.grad is None else tensor.grad + total
            if tensor.fn is None:
                continue
            for x, share in zip(tensor.fn.inputs, tensor.fn.backward(total)):
                if not x.requires_grad:
                    continue
                share = unbroadcast(share, x.data.shape)
                arrived[x] = arrived[x] + share if x in arrived else share
                # overwritten: arrived[x] = share
                readers[x] -= 1
                # early: readers[x] = 0 if readers[x] > 0 else -1
                # twice: readers[x] = 0
                if readers[x] == 0:
                    ready.append(x)


def unbroadcast(grad, shape):
    extra = grad.ndim - len(shape)
    # broadcast: return grad
    grad = grad.sum(axis=tuple(range(extra)))
    stretched = tuple(i for i, n in enumerate(shape) if n == 1 and grad.shape[i] != 1)
    return grad.sum(axis=stretched, keepdims=True) if stretched else grad
