"""Matrices modulo a prime, and chains of them that are multiplied late.

A chain is multiplied on demand, in the cheapest order: the claims of a proof end in vectors (a random direction, a sum
over rows), so it usually costs n² where the forward itself costs n³.
"""

from __future__ import annotations

import weakref
from functools import lru_cache

import numpy as np

from gradcheck.autograd.ops.matrix_products import multiply_chain
from gradcheck.oracles.exact.modular_arithmetic import SMALL, centred, in_halves, limbs, modulus

#: The longest chain: `h @ h`, repeated, must not double for ever.
MAX_FACTORS = 16
#: The ratio of sides to waist of a chain that stays one in a sum.
_NARROW = 4


class ModularMatrix:
    """A matrix of residues, with cached float64 form and vector products."""

    __slots__ = ("__weakref__", "_centred", "_of", "_products", "_transpose", "is_ones", "prime", "residues", "shape")

    def __init__(self, residues: np.ndarray, prime: int, *, is_ones: bool = False) -> None:
        self.residues, self.prime, self.is_ones = residues, prime, is_ones
        self.shape: tuple[int, int] = residues.shape
        self._centred: np.ndarray | None = None
        self._transpose: ModularMatrix | None = None
        #: The matrix whose transpose it is; a weak reference, since cycles wait for Python's collector.
        self._of: weakref.ref[ModularMatrix] | None = None
        self._products: dict[ModularMatrix, ModularMatrix] | None = None

    @property
    def centred(self) -> np.ndarray:
        if self._centred is None:
            other = self._transpose if self._of is None else self._of()
            known = None if other is None or other._centred is None else other._centred.T
            self._centred = centred(self.residues, self.prime) if known is None else known
        return self._centred

    @property
    def T(self) -> ModularMatrix:  # noqa: N802 - as an array has it
        other = self._transpose if self._of is None else self._of()
        if other is None:
            other = self._transpose = ModularMatrix(self.residues.T, self.prime, is_ones=self.is_ones)
            other._of, self._of = weakref.ref(self), None
        return other

    def __matmul__(self, other: ModularMatrix) -> ModularMatrix:
        is_row, is_column = self.shape[0] == 1, other.shape[1] == 1
        if is_row == is_column or self.shape[1] == 1:
            return self._times(other)
        matrix, vector = (other, self) if is_row else (self, other)
        if matrix._products is None:
            matrix._products = {}
        found = matrix._products.get(vector)
        if found is None:
            found = matrix._products[vector] = self._times(other)
        return found

    def _times(self, other: ModularMatrix) -> ModularMatrix:
        """Multiply; the smaller factor is cut into limbs, the larger is not."""
        (rows, terms), columns, prime = self.shape, other.shape[1], self.prime
        if terms == 1:
            return ModularMatrix(self.residues * other.residues % prime, prime)
        if type(other) is DiagonalMatrix:
            return ModularMatrix(self.residues * other.diagonal % prime, prime)
        if self.is_ones or other.is_ones:
            factor, axis = (other, 0) if self.is_ones else (self, 1)
            added = np.add.reduce(factor.residues, axis, keepdims=True)
            return ModularMatrix(added % modulus(prime), prime)
        if rows * terms * columns <= SMALL:
            return ModularMatrix(in_halves(np.dot, self.residues, other.residues, prime), prime)
        if columns < rows:
            return (other.T @ self.T).T
        parts, bits = limbs(self.residues, terms, prime)
        pieces = (np.concatenate(parts) @ other.centred).astype(np.int64).reshape(len(parts), rows, columns) % prime
        total = pieces[0]
        for number, piece in enumerate(pieces[1:], 1):
            total = (total + piece * pow(2, bits * number, prime)) % prime
        return ModularMatrix(total, prime)


class DiagonalMatrix(ModularMatrix):
    """A diagonal matrix, which multiplies others element by element."""

    __slots__ = ("diagonal",)

    def __init__(self, diagonal: np.ndarray, prime: int) -> None:
        side = diagonal.size
        residues = np.zeros(side * side, dtype=np.int64)
        residues[:: side + 1] = diagonal
        super().__init__(residues.reshape(side, side), prime)
        self.diagonal = diagonal

    @property
    def T(self) -> ModularMatrix:  # noqa: N802 - as an array has it
        return self

    def _times(self, other: ModularMatrix) -> ModularMatrix:
        return ModularMatrix(self.diagonal[:, None] * other.residues % self.prime, self.prime)


@lru_cache(maxsize=64)
def ones(rows: int, columns: int, prime: int) -> ModularMatrix:
    """Return a row or a column of ones, one object for equal ones."""
    return ModularMatrix(np.ones((rows, columns), dtype=np.int64), prime, is_ones=True)


class MatrixChain:
    """`factors[0] @ factors[1] @ …`, not multiplied yet, with a shape."""

    __slots__ = ("factors", "shape")

    def __init__(self, factors: tuple[ModularMatrix, ...], shape: tuple[int, ...] | None = None) -> None:
        self.factors = factors
        self.shape = shape or (factors[0].shape[0], factors[-1].shape[1])

    @property
    def T(self) -> MatrixChain:  # noqa: N802 - as an array has it
        return MatrixChain(tuple(factor.T for factor in reversed(self.factors)))

    def reshape(self, shape: tuple[int, ...]) -> MatrixChain:
        """Return the chain in another shape; no factor can be added then."""
        found = MatrixChain(self.factors)
        found.shape = shape
        return found

    def dense(self) -> np.ndarray:
        """Return the product, which is multiplied once."""
        if len(self.factors) > 1:
            self.factors = (multiply_chain(self.factors),)
        residues = self.factors[0].residues
        return residues if residues.shape == self.shape else residues.reshape(self.shape)

    def plus(self, other: MatrixChain) -> MatrixChain | np.ndarray:
        """Return the sum; of two narrow chains, a chain that is still narrow."""
        # that is `[a c] @ [b; d]` for `a @ b + c @ d`, so that further products stay cheap
        prime = self.factors[0].prime
        if _NARROW * (self._waist() + other._waist()) > min(self.shape):
            return np.asarray((self.dense() + other.dense()) % prime)
        columns, rows = zip(self._at_waist(), other._at_waist(), strict=True)
        left = ModularMatrix(np.concatenate([factor.residues for factor in columns], axis=1), prime)
        return MatrixChain((left, ModularMatrix(np.concatenate([factor.residues for factor in rows]), prime)))

    def _waist(self) -> int:
        """Return the smallest inner size; of one factor, the larger side."""
        return min((factor.shape[1] for factor in self.factors[:-1]), default=max(self.shape))

    def _at_waist(self) -> tuple[ModularMatrix, ModularMatrix]:
        """Return the products left and right of the smallest inner size."""
        factors = self.factors
        if len(factors) > 2:
            cut = 1 + [factor.shape[1] for factor in factors].index(self._waist())
            self.factors = factors = (multiply_chain(factors[:cut]), multiply_chain(factors[cut:]))
        return factors[0], factors[1]

    def __matmul__(self, other: MatrixChain) -> MatrixChain:
        if len(self.factors) + len(other.factors) > MAX_FACTORS:
            self.dense()
            other.dense()
        return MatrixChain(self.factors + other.factors, (self.shape[0], other.shape[1]))
