"""A product of matrices modulo a prime that is not multiplied out before somebody asks, and then in the cheapest order.

The claims of a proof end in vectors (a random direction, a sum over rows), so a chain of n×n matrices usually comes
down to products of a matrix and a vector: n² where the forward itself costs n³.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from gradcheck.oracles import modular

#: A longer chain is multiplied out first, so that `h @ h`, over and over, does not double for ever.
MAX_FACTORS = 16


class Chain:
    """`factors[0] @ factors[1] @ …`, each a matrix of residues."""

    __slots__ = ("_dense", "factors", "prime")

    def __init__(self, factors: tuple[np.ndarray, ...], prime: int) -> None:
        self.factors, self.prime = factors, prime
        self._dense: np.ndarray | None = None

    @property
    def shape(self) -> tuple[int, int]:
        return (self.factors[0].shape[0], self.factors[-1].shape[1])

    @property
    def T(self) -> Chain:  # noqa: N802 - as an array has it
        """The transpose."""
        return Chain(tuple(factor.T for factor in reversed(self.factors)), self.prime)

    def dense(self) -> np.ndarray:
        """The product, multiplied out once."""
        if self._dense is None:
            sizes = (self.factors[0].shape[0], *(factor.shape[1] for factor in self.factors))
            self._dense = self._multiply(0, len(self.factors) - 1, _cuts(sizes))
        return self._dense

    def _multiply(self, first: int, last: int, cuts: dict[tuple[int, int], int]) -> np.ndarray:
        if first == last:
            return self.factors[first]
        cut = cuts[first, last]
        left, right = self._multiply(first, cut, cuts), self._multiply(cut + 1, last, cuts)
        return modular.bilinear(np.matmul, left, right, max(left.shape[1], 1), self.prime)


def joined(left: np.ndarray | Chain, right: np.ndarray | Chain, prime: int) -> Chain:
    """The product of two matrices or chains."""
    factors = (*_factors(left), *_factors(right))
    if len(factors) > MAX_FACTORS:
        factors = (_matrix(left), _matrix(right))
    return Chain(factors, prime)


def _factors(value: np.ndarray | Chain) -> tuple[np.ndarray, ...]:
    if isinstance(value, Chain):
        return value.factors if value._dense is None else (value._dense,)
    return (value,)


def _matrix(value: np.ndarray | Chain) -> np.ndarray:
    return value.dense() if isinstance(value, Chain) else value


@lru_cache(maxsize=4096)
def _cuts(sizes: tuple[int, ...]) -> dict[tuple[int, int], int]:
    """Where to cut each part of a chain so that it costs least (the classical dynamic programme over its parts)."""
    count = len(sizes) - 1
    costs = {(i, i): 0 for i in range(count)}
    cuts: dict[tuple[int, int], int] = {}
    for length in range(2, count + 1):
        for i in range(count - length + 1):
            j = i + length - 1
            options = {
                cut: costs[i, cut] + costs[cut + 1, j] + sizes[i] * sizes[cut + 1] * sizes[j + 1] for cut in range(i, j)
            }
            cuts[i, j] = min(options, key=options.__getitem__)
            costs[i, j] = options[cuts[i, j]]
    return cuts
