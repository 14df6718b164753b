"""A product of a tensor with itself passes its gradient on to one of the two factors alone."""

from right import Tensor as Right


class Tensor(Right):
    def __mul__(self, other):
        result = super().__mul__(other)
        return type(self)(result.data, result.makers[:1]) if other is self else result
