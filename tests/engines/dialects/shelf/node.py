"""A class in a folder that is a package in all but name: its neighbours are imported relatively."""

from .rules import both


class Node:
    def __init__(self, data, parents=()):
        import numpy as np

        self.data, self.parents, self.grad = np.asarray(data, float), parents, None

    def backward(self, gradient=1.0):
        self.grad = gradient if self.grad is None else self.grad + gradient
        for parent, part in zip(self.parents, both(gradient) if self.parents else (), strict=True):
            parent.backward(part)

    def __add__(self, other):
        return Node(self.data + other.data, (self, other))
