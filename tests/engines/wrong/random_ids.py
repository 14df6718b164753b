"""Wrong on purpose: tensors are told apart by random numbers, and two of them may draw the same.

There are few numbers here, so that small graphs show it; with more of them it only takes longer.
"""

import random

import numpy as np

_numbers = random.Random(5)


class Tensor:
    def __init__(self, data, autograd=False, creators=None, creation_op=None):
        self.data = np.array(data)
        self.autograd = autograd
        self.creators = creators or []
        self.creation_op = creation_op
        self.grad = None
        self.id = _numbers.randrange(6)
        self.children = {}  # by number, how many gradients a child still owes
        for creator in self.creators:
            creator.children[self.id] = creator.children.get(self.id, 0) + 1

    def backward(self, grad=None, grad_origin=None):
        if not self.autograd:
            return
        if grad is None:
            grad = Tensor(np.ones_like(self.data))
        if grad_origin is not None:
            if self.children[grad_origin.id] == 0:
                raise RuntimeError("cannot backprop more than once")
            self.children[grad_origin.id] -= 1
        self.grad = grad if self.grad is None else Tensor(self.grad.data + grad.data)
        if grad_origin is None or all(owed == 0 for owed in self.children.values()):
            self._pass_on()

    def _pass_on(self):
        if self.creation_op == "add":
            for creator in self.creators:
                creator.backward(Tensor(self.grad.data), self)
        elif self.creation_op == "mul":
            left, right = self.creators
            left.backward(Tensor(self.grad.data * right.data), self)
            right.backward(Tensor(self.grad.data * left.data), self)
        elif self.creation_op == "sum":
            (creator,) = self.creators
            creator.backward(Tensor(np.broadcast_to(self.grad.data, creator.data.shape)), self)

    def __add__(self, other):
        return Tensor(self.data + other.data, self.autograd or other.autograd, [self, other], "add")

    def __mul__(self, other):
        return Tensor(self.data * other.data, self.autograd or other.autograd, [self, other], "mul")

    def sum(self):
        return Tensor(self.data.sum(), self.autograd, [self], "sum")
