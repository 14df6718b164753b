"""Wrong on purpose: a product is computed in the memory of its first factor."""

from right import Tensor as Right


class Tensor(Right):
    def __mul__(self, other):
        product = super().__mul__(other)
        if (product.data.shape, product.data.dtype) == (self.data.shape, self.data.dtype):
            self.data[...] = product.data
        return product
