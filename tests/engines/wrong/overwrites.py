"""Wrong on purpose: a gradient that arrives replaces the one that was there.

Right on `z = x + y`; wrong on `f = (a + b) + (b + c)`, where b gets 1 for 2.
"""

import numpy as np


class Tensor:
    def __init__(self, data, autograd=False, creators=None, creation_op=None):
        self.data = np.array(data)
        self.autograd = autograd
        self.creators = creators or []
        self.creation_op = creation_op
        self.grad = None
        self.children = {}  # how many gradients each child still owes
        for creator in self.creators:
            creator.children[self] = creator.children.get(self, 0) + 1

    def backward(self, grad=None, child=None):
        if not self.autograd:
            return
        if child is not None:
            self.children[child] -= 1
        self.grad = Tensor(np.ones_like(self.data)) if grad is None else grad
        if all(owed == 0 for owed in self.children.values()) or child is None:
            self._pass_on()

    def _pass_on(self):
        if self.creation_op == "add":
            for creator in self.creators:
                creator.backward(creator._fit(self.grad.data), self)
        elif self.creation_op == "mul":
            left, right = self.creators
            left.backward(left._fit(self.grad.data * right.data), self)
            right.backward(right._fit(self.grad.data * left.data), self)
        elif self.creation_op == "neg":
            self.creators[0].backward(Tensor(-self.grad.data), self)
        elif self.creation_op == "sum":
            (creator,) = self.creators
            creator.backward(Tensor(np.broadcast_to(self.grad.data, creator.data.shape)), self)
        elif self.creation_op == "mm":
            left, right = self.creators
            left.backward(Tensor(self.grad.data @ right.data.T), self)
            right.backward(Tensor(left.data.T @ self.grad.data), self)

    def _fit(self, gradient):
        gradient = gradient.sum(axis=tuple(range(gradient.ndim - self.data.ndim)))
        ones = tuple(axis for axis, size in enumerate(self.data.shape) if size == 1)
        return Tensor(gradient.sum(axis=ones, keepdims=True) if ones else gradient)

    def _make(self, data, creators, creation_op):
        return Tensor(data, any(c.autograd for c in creators), creators, creation_op)

    def __add__(self, other):
        return self._make(self.data + other.data, [self, other], "add")

    def __mul__(self, other):
        return self._make(self.data * other.data, [self, other], "mul")

    def __neg__(self):
        return self._make(-self.data, [self], "neg")

    def sum(self):
        return self._make(self.data.sum(), [self], "sum")

    def mm(self, other):
        if self.data.ndim != 2 or other.data.ndim != 2:
            raise NotImplementedError("matrices only")
        return self._make(self.data @ other.data, [self, other], "mm")

    def __repr__(self):
        return f"Tensor({self.data})"
