"""A number knows what is made of it: its gradient is asked for, and remembered."""

import math


class Num:
    def __init__(self, value):
        self.value = float(value)
        self.uses = []
        self.grad_value = None

    def grad(self):
        if self.grad_value is None:
            self.grad_value = sum(weight * use.grad() for weight, use in self.uses)
            # overwritten: self.grad_value = ([0.0] + [weight * use.grad() for weight, use in self.uses])[-1]
            # twice: self.grad_value = 2 * sum(weight * use.grad() for weight, use in self.uses)
        return self.grad_value

    def _made(self, value, *links):
        made = Num(value)
        for operand, weight in links:
            operand.uses.append((weight, made))
        return made

    def __add__(self, other):
        other = number(other)
        return self._made(self.value + other.value, (self, 1.0), (other, 1.0))

    def __sub__(self, other):
        other = number(other)
        return self._made(self.value - other.value, (self, 1.0), (other, -1.0))

    def __mul__(self, other):
        other = number(other)
        return self._made(self.value * other.value, (self, other.value), (other, self.value))

    def __truediv__(self, other):
        other = number(other)
        return self._made(
            self.value / other.value, (self, 1 / other.value), (other, -self.value / (other.value * other.value))
        )

    def __neg__(self):
        return self._made(-self.value, (self, -1.0))

    def __pow__(self, n):
        return self._made(self.value**n, (self, n * self.value ** (n - 1)))

    __radd__ = __add__
    __rmul__ = __mul__

    def sin(self):
        return self._made(math.sin(self.value), (self, math.cos(self.value)))

    def exp(self):
        e = math.exp(self.value)
        return self._made(e, (self, e))

    def relu(self):
        return self._made(max(0.0, self.value), (self, float(self.value > 0)))
        # relu: return self._made(max(0.0, self.value), (self, float(self.value >= 0)))


def number(x):
    return x if isinstance(x, Num) else Num(x)
