"""Direction: a random direction of one tensor, the outer product of a random vector for each dimension.

A gradient that is wrong in any element is wrong along it, but by chance: `<G - T, V>` is a polynomial in the vectors.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcheck.oracles.exact.degree import RANDOM
from gradcheck.oracles.exact.dual import Residue
from gradcheck.oracles.exact.lazy_matmul import Chain, Matrix
from gradcheck.oracles.exact.ops.arithmetic import summed, times
from gradcheck.oracles.exact.ops.products import product
from gradcheck.oracles.exact.point import Point


class Direction:
    """Along it a tensor moves, and a gradient is looked at."""

    __slots__ = ("point", "shape", "vectors")

    def __init__(self, point: Point, generator: np.random.Generator, shape: tuple[int, ...]) -> None:
        self.point, self.shape = point, shape
        self.vectors = [point.random(generator, (size,)) for size in shape or (1,)]

    def moving(self, tensor: Residue) -> Residue:
        """The tensor, this direction added to its tangent."""
        prime, degree = self.point.prime, tensor.degree.along(max(1, len(self.shape)))
        if len(self.shape) == 2:
            column, row = self.vectors[0][:, None], self.vectors[1][None, :]
            chain = Chain((Matrix(column, prime), Matrix(row, prime)))
            before = tensor.tangent
            tangent: Any = chain if before is None else (chain.dense() + before) % prime
            return Residue(self.point, tensor.lazy_value, tangent, degree)
        tangent = self.vectors[0]
        for vector in self.vectors[1:]:
            tangent = tangent[..., None] * vector % prime
        tangent = tangent.reshape(self.shape)
        if tensor.tangent is not None:
            tangent = (tangent + tensor.tangent) % prime
        return Residue(self.point, tensor.lazy_value, tangent, degree)

    def along(self, gradient: Residue) -> Residue:
        """The inner product with a tensor of this shape; a number."""
        if len(self.shape) == 2:
            left = Residue(self.point, self.vectors[0][None, :], None, RANDOM)
            right = Residue(self.point, self.vectors[1][:, None], None, RANDOM)
            return number(product(product(left, gradient), right))
        for vector in reversed(self.vectors):
            weighted = times(gradient, Residue(self.point, vector, None, RANDOM))
            gradient = summed(weighted, -1)
        return gradient


def number(x: Residue) -> Residue:
    """A tensor of one element as a number."""
    return Residue(x.point, x.value.reshape(()), None, x.degree)
