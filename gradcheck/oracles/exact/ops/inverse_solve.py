"""Inverses and systems, by Gauss and Jordan's elimination modulo the prime."""

from __future__ import annotations

from math import prod

import numpy as np

from gradcheck.oracles.exact import modular
from gradcheck.oracles.exact.dual import Dual
from gradcheck.oracles.exact.ops.matrix_products import matmul
from gradcheck.oracles.exact.rules import exact_rule


@exact_rule("linalg.inv")
def inverse(x: Dual) -> Dual:
    """The derivative of `inv(A)` is `-inv(A) @ dA @ inv(A)`. Raises ZeroDivisionError for a singular matrix."""
    n, prime = x.shape[-1], x.point.prime
    value, _ = invert(x.value, prime)
    tangent = None
    if x.tangent is not None:
        half = modular.bilinear(np.matmul, value, x.tangent, n, prime)
        tangent = (-modular.bilinear(np.matmul, half, value, n, prime)) % prime
    return Dual(x.point, value, tangent, x.degree.inverse_matrix(n))


def invert(matrices: np.ndarray, prime: int) -> tuple[np.ndarray, np.ndarray]:
    """The inverses and the determinants, of shape (…, n, n) and (…). Raises ZeroDivisionError for a singular matrix."""
    n, batch = matrices.shape[-1], prod(matrices.shape[:-2])
    identity = np.broadcast_to(np.eye(n, dtype=np.int64), matrices.shape)
    rows = np.concatenate([matrices, identity], axis=-1).reshape(batch, n, 2 * n)
    determinants = np.ones(batch, dtype=np.int64)
    each = np.arange(batch)
    for column in range(n):
        pivot = column + np.argmax(rows[:, column:, column] != 0, axis=1)
        swapped = pivot != column
        rows[each, pivot], rows[:, column] = rows[:, column].copy(), rows[each, pivot].copy()
        head = rows[:, column, column]
        determinants = determinants * np.where(swapped, prime - head, head) % prime
        rows[:, column] = rows[:, column] * modular.inverse(head, prime)[:, None] % prime
        factors = rows[:, :, column].copy()
        factors[:, column] = 0
        rows = (rows - factors[:, :, None] * rows[:, column, None, :]) % prime
    return rows[:, :, n:].reshape(matrices.shape), determinants.reshape(matrices.shape[:-2])


@exact_rule("linalg.solve", operands=(0, 1))
def _solve(a: Dual, b: Dual, left: bool = True) -> Dual:
    """`inv(A) @ B`, or `B @ inv(A)`."""
    inverted = inverse(a)
    if b.ndim == 1 or (b.ndim == a.ndim - 1 and b.shape == a.shape[:-1]):
        column: Dual = matmul(inverted, b.unsqueeze(-1)).squeeze(-1)
        return column
    return matmul(inverted, b) if left else matmul(b, inverted)
