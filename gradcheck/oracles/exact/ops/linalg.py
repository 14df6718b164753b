"""Linear algebra: inverses, systems and determinants, by Gauss and Jordan's elimination modulo the prime."""

from __future__ import annotations

from math import prod

import numpy as np

from gradcheck.oracles.exact import modular
from gradcheck.oracles.exact.degree import PIECEWISE
from gradcheck.oracles.exact.dual import Dual
from gradcheck.oracles.exact.ops.products import matmul
from gradcheck.oracles.exact.ops.reduction import summed
from gradcheck.oracles.exact.rules import exact_rule
from gradcheck.oracles.exact.uninterpreted import chain_rule, uninterpreted


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


@exact_rule("linalg.det")
def determinant(x: Dual) -> Dual:
    """The derivative of `det(A)` is `det(A) * trace(inv(A) @ dA)` (Jacobi)."""
    n, prime = x.shape[-1], x.point.prime
    inverted, value = invert(x.value, prime)
    tangent = None
    if x.tangent is not None:
        slopes = modular.bilinear(np.matmul, inverted, x.tangent, n, prime)
        tangent = value * (np.trace(slopes, axis1=-2, axis2=-1) % prime) % prime
    return Dual(x.point, value, tangent, x.degree.determinant(n))


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


@exact_rule("logabsdet")
def _logabsdet(x: Dual) -> Dual:
    """A logarithm, whose derivative is the determinant's divided by it."""
    found = determinant(x)
    return chain_rule(found, uninterpreted("log(abs(x))", found), found.primal().reciprocal)


@exact_rule("det_sign")
def _det_sign(x: Dual) -> Dual:
    """Some number, whose derivative is 0."""
    found = uninterpreted("sign of a determinant", determinant(x.primal()))
    return Dual(x.point, found.value, None, found.degree._replace(kinds=found.degree.kinds | PIECEWISE))


def _cofactors(x: Dual) -> tuple[Dual, Dual]:
    """The cofactors `det(A) * inv(A).mT`, for any regular matrix, and `inv(A).mT`."""
    transposed: Dual = inverse(x).mT
    return transposed * determinant(x)[..., None, None], transposed


exact_rule("cofactors")(lambda x: _cofactors(x)[0])


@exact_rule("det_hessian", operands=(0, 1))
def _det_hessian(x: Dual, direction: Dual) -> Dual:
    """With B = inv(A).mT: `<G, B> C - B @ G.mT @ C`, C the cofactors."""
    cofactors, b = _cofactors(x)
    return summed(direction * b, (-2, -1), True) * cofactors - matmul(matmul(b, direction.mT), cofactors)
