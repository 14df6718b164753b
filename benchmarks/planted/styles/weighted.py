"""Single numbers on one list: each entry names its parents by their places, and the weights of their derivatives."""

import math

NODES = []


class Var:
    def __init__(self, value, links=()):
        self.value = float(value)
        self.links = tuple(links)
        self.index = len(NODES)
        self.grad = 0.0
        NODES.append(self)

    def _of(self, other):
        return other if isinstance(other, Var) else Var(other)

    def __add__(self, other):
        other = self._of(other)
        return Var(self.value + other.value, [(self.index, 1.0), (other.index, 1.0)])

    def __sub__(self, other):
        other = self._of(other)
        return Var(self.value - other.value, [(self.index, 1.0), (other.index, -1.0)])

    def __mul__(self, other):
        other = self._of(other)
        return Var(self.value * other.value, [(self.index, other.value), (other.index, self.value)])

    def __truediv__(self, other):
        other = self._of(other)
        return Var(
            self.value / other.value, [(self.index, 1 / other.value), (other.index, -self.value / other.value**2)]
        )

    def __neg__(self):
        return Var(-self.value, [(self.index, -1.0)])

    def __pow__(self, n):
        return Var(self.value**n, [(self.index, n * self.value ** (n - 1))])

    __radd__ = __add__
    __rmul__ = __mul__

    def exp(self):
        e = math.exp(self.value)
        return Var(e, [(self.index, e)])

    def tanh(self):
        t = math.tanh(self.value)
        return Var(t, [(self.index, 1 - t * t)])

    def relu(self):
        return Var(max(self.value, 0.0), [(self.index, 1.0 if self.value > 0 else 0.0)])
        # relu: return Var(max(self.value, 0.0), [(self.index, 1.0 if self.value >= 0 else 0.0)])

    def zero_grad(self):
        self.grad = 0.0
        # zeroing: self.gradient = 0.0

    def backward(self):
        adjoints = dict.fromkeys(ordered(self.index), 0.0)
        # left_over: adjoints = {place: NODES[place].grad for place in ordered(self.index)}
        adjoints[self.index] = 1.0
        for place in sorted(adjoints, reverse=True):
            # early: for place in adjoints:
            for parent, weight in NODES[place].links:
                adjoints[parent] += weight * adjoints[place]
                # overwritten: adjoints[parent] = weight * adjoints[place]
                # twice: adjoints[parent] += weight * adjoints[place] * (2 if adjoints[parent] else 1)
        for place, adjoint in adjoints.items():
            NODES[place].grad += adjoint
            # left_over: NODES[place].grad = adjoint


def ordered(root):
    found, seen = [root], {root}
    for place in found:
        for parent, _ in NODES[place].links:
            if parent not in seen:
                seen.add(parent)
                found.append(parent)
    return found
