"""A product of matrices modulo a prime that is not multiplied out before somebody asks, and then in the cheapest order.

The claims of a proof end in vectors (a random direction, a sum over rows), so a chain of n×n matrices usually comes
down to products of a matrix and a vector: n² where the forward itself costs n³.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from gradcheck.oracles.exact import modular

#: A longer chain is multiplied out first, so that `h @ h`, over and over, does not double for ever.
MAX_FACTORS = 16


class ModularMatrix:
    """A matrix of residues, and the same centred around 0 in float64, made once."""

    __slots__ = ("_centred", "_transpose", "prime", "residues", "shape")

    def __init__(self, residues: np.ndarray, prime: int) -> None:
        self.residues, self.prime = residues, prime
        self.shape: tuple[int, int] = residues.shape
        self._centred: np.ndarray | None = None
        self._transpose: ModularMatrix | None = None

    @property
    def centred(self) -> np.ndarray:
        if self._centred is None:
            other = self._transpose
            known = None if other is None or other._centred is None else other._centred.T
            self._centred = modular.centred(self.residues, self.prime) if known is None else known
        return self._centred

    @property
    def T(self) -> ModularMatrix:  # noqa: N802 - as an array has it
        if self._transpose is None:
            self._transpose = ModularMatrix(self.residues.T, self.prime)
            self._transpose._transpose = self
        return self._transpose

    def __matmul__(self, other: ModularMatrix) -> ModularMatrix:
        """The product: the smaller factor is cut into limbs, the larger one is used as it lies there."""
        (rows, terms), columns, prime = self.shape, other.shape[1], self.prime
        if terms == 1:
            return ModularMatrix(self.residues * other.residues % prime, prime)
        if rows * terms * columns <= modular.SMALL:
            return ModularMatrix(modular.in_halves(np.dot, self.residues, other.residues, prime), prime)
        if columns < rows:
            return (other.T @ self.T).T
        parts, bits = modular.limbs(self.residues, terms, prime)
        pieces = (np.concatenate(parts) @ other.centred).astype(np.int64).reshape(len(parts), rows, columns) % prime
        total = pieces[0]
        for number, piece in enumerate(pieces[1:], 1):
            total = (total + piece * pow(2, bits * number, prime)) % prime
        return ModularMatrix(total, prime)


class MatrixChain:
    """`factors[0] @ factors[1] @ …`, not multiplied out yet, and then given this shape."""

    __slots__ = ("factors", "shape")

    def __init__(self, factors: tuple[ModularMatrix, ...]) -> None:
        self.factors = factors
        self.shape: tuple[int, ...] = (factors[0].shape[0], factors[-1].shape[1])

    @property
    def T(self) -> MatrixChain:  # noqa: N802 - as an array has it
        return MatrixChain(tuple(factor.T for factor in reversed(self.factors)))

    def reshape(self, shape: tuple[int, ...]) -> MatrixChain:
        """As an array has it; no factor can be added then."""
        found = MatrixChain(self.factors)
        found.shape = shape
        return found

    def dense(self) -> np.ndarray:
        """The product, multiplied out once."""
        if len(self.factors) > 1:
            factors = list(self.factors)
            for left, right in _cheapest_order((factors[0].shape[0], *[factor.shape[1] for factor in factors])):
                factors[left] = factors[left] @ factors[right]
            self.factors = (factors[0],)
        return self.factors[0].residues.reshape(self.shape)

    def __matmul__(self, other: MatrixChain) -> MatrixChain:
        """The longer chain."""
        if len(self.factors) + len(other.factors) > MAX_FACTORS:
            self.dense()
            other.dense()
        return MatrixChain((*self.factors, *other.factors))


@lru_cache(maxsize=4096)
def _cheapest_order(sizes: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    """In which order to multiply a chain so that it costs least, by dynamic programming over its parts (Cormen et al.,
    "Introduction to Algorithms", matrix-chain multiplication): pairs of the places where two neighbouring parts begin;
    their product then stands at the first."""
    count = len(sizes) - 1
    costs = {(i, i): 0 for i in range(count)}
    orders: dict[tuple[int, int], tuple[tuple[int, int], ...]] = {(i, i): () for i in range(count)}
    for length in range(2, count + 1):
        for i in range(count - length + 1):
            j = i + length - 1
            options = {
                cut: costs[i, cut] + costs[cut + 1, j] + sizes[i] * sizes[cut + 1] * sizes[j + 1] for cut in range(i, j)
            }
            cut = min(options, key=options.__getitem__)
            costs[i, j] = options[cut]
            orders[i, j] = (*orders[i, cut], *orders[cut + 1, j], (i, cut + 1))
    return orders[0, count - 1]
