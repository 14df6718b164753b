"""A random direction of one tensor: the outer product of a random vector for each dimension.

A gradient G that is wrong in any element is wrong along it, but by chance: `<G - true, V>` is a polynomial in the
vectors, not zero if G is wrong, of one degree for each dimension.
"""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import numpy as np

from gradcheck.oracles.exact.degree import RANDOM
from gradcheck.oracles.exact.dual import Dual
from gradcheck.oracles.exact.lazy_matmul import MatrixChain, ModularMatrix
from gradcheck.oracles.exact.ops.matrices import product
from gradcheck.oracles.exact.ops.reductions import summed
from gradcheck.oracles.exact.point import FieldPoint


class Direction:
    """Along it a tensor of this shape is differentiated, and a gradient is looked at."""

    __slots__ = ("point", "shape", "vectors")

    def __init__(self, point: FieldPoint, generator: np.random.Generator, shape: tuple[int, ...]) -> None:
        self.point, self.shape = point, shape
        sizes = shape or (1,)
        ends = [*accumulate(sizes)]
        drawn = point.random(generator, (ends[-1],))
        self.vectors = [drawn[end - size : end] for end, size in zip(ends, sizes, strict=True)]

    def added_to(self, tensor: Dual) -> Dual:
        """The tensor, this direction added to its tangent."""
        degree = tensor.degree.along(max(1, len(self.shape)))
        tangent = self._tangent()
        if tensor.tangent is not None:
            dense = tangent.dense() if isinstance(tangent, MatrixChain) else tangent
            tangent = (dense + tensor.tangent) % self.point.prime
        return Dual(self.point, tensor.lazy_value, tangent, degree)

    def _tangent(self) -> Any:
        """The direction as an array; of a matrix as a chain of a column and a row."""
        prime = self.point.prime
        if len(self.shape) == 2:
            column, row = self.vectors[0][:, None], self.vectors[1][None, :]
            return MatrixChain((ModularMatrix(column, prime), ModularMatrix(row, prime)))
        tangent = self.vectors[0]
        for vector in self.vectors[1:]:
            tangent = tangent[..., None] * vector % prime
        return tangent.reshape(self.shape)

    def inner(self, gradient: Dual) -> Dual:
        """The inner product of the direction and a tensor of its shape; a number."""
        if len(self.shape) == 2:
            left = Dual(self.point, self.vectors[0][None, :], None, RANDOM)
            right = Dual(self.point, self.vectors[1][:, None], None, RANDOM)
            return scalar(product(product(left, gradient), right))
        for vector in reversed(self.vectors):
            gradient = summed(gradient * Dual(self.point, vector, None, RANDOM), -1)
        return gradient


def scalar(x: Dual) -> Dual:
    """The value of a tensor of one element, without dimensions."""
    return Dual(x.point, x.lazy_value.reshape(()), None, x.degree)
