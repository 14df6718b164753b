"""Linear algebra: inverses, systems and determinants, by Gauss and Jordan's elimination modulo the prime."""

from __future__ import annotations

from math import prod

import numpy as np

from gradcheck.autograd.op import Op
from gradcheck.oracles.exact import modular
from gradcheck.oracles.exact.algebra import apply, minus, reciprocal, summed, times
from gradcheck.oracles.exact.degree import PIECEWISE
from gradcheck.oracles.exact.dual import Dual, exact_rule
from gradcheck.oracles.exact.ops.products import matmul
from gradcheck.oracles.exact.uninterpreted import chain_rule, uninterpreted


def inverse(x: Dual) -> Dual:
    """The derivative of `inv(A)` is `-inv(A) @ dA @ inv(A)`. Raises ZeroDivisionError for a singular matrix."""
    n, prime = x.shape[-1], x.point.prime
    value, _ = _inverses(x)
    tangent = None
    if x.tangent is not None:
        half = modular.bilinear(np.matmul, value, x.tangent, n, prime)
        tangent = (-modular.bilinear(np.matmul, half, value, n, prime)) % prime
    return Dual(x.point, value, tangent, x.degree.inverse_matrix(n))


def determinant(x: Dual) -> Dual:
    """The derivative of `det(A)` is `det(A) * trace(inv(A) @ dA)` (Jacobi)."""
    n, prime = x.shape[-1], x.point.prime
    inverted, value = _inverses(x)
    tangent = None
    if x.tangent is not None:
        slopes = modular.bilinear(np.matmul, inverted, x.tangent, n, prime)
        tangent = value * (np.trace(slopes, axis1=-2, axis2=-1) % prime) % prime
    return Dual(x.point, value, tangent, x.degree.determinant(n))


def _inverses(x: Dual) -> tuple[np.ndarray, np.ndarray]:
    identity = np.broadcast_to(np.eye(x.shape[-1], dtype=np.int64), x.shape)
    return eliminate(x.value, identity, x.point.prime)


def eliminate(matrices: np.ndarray, right: np.ndarray, prime: int) -> tuple[np.ndarray, np.ndarray]:
    """`inv(matrices) @ right` and the determinants. Raises ZeroDivisionError where a matrix is singular."""
    n, batch = matrices.shape[-1], prod(matrices.shape[:-2])
    rows = np.concatenate([matrices, right], axis=-1).reshape(batch, n, n + right.shape[-1]).copy()
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
    return rows[:, :, n:].reshape(right.shape), determinants.reshape(matrices.shape[:-2])


@exact_rule("linalg.inv")
def _inv(op: Op, x: Dual) -> Dual:
    return inverse(x)


@exact_rule("linalg.solve", operands=(0, 1))
def _solve(op: Op, a: Dual, b: Dual, left: bool = True) -> Dual:
    """`inv(A) @ B`, or `B @ inv(A)`."""
    inverted = inverse(a)
    if b.ndim == 1 or (b.ndim == a.ndim - 1 and b.shape == a.shape[:-1]):
        return apply("squeeze", matmul(inverted, apply("unsqueeze", b, -1)), -1)
    return matmul(inverted, b) if left else matmul(b, inverted)


@exact_rule("linalg.det")
def _det(op: Op, x: Dual) -> Dual:
    return determinant(x)


@exact_rule("logabsdet")
def _logabsdet(op: Op, x: Dual) -> Dual:
    """A logarithm, whose derivative is the determinant's divided by it."""
    found = determinant(x)
    return chain_rule(found, uninterpreted("log(abs(x))", found), lambda: reciprocal(found.primal()))


@exact_rule("det_sign")
def _det_sign(op: Op, x: Dual) -> Dual:
    """Some number, whose derivative is 0."""
    found = uninterpreted("sign of a determinant", determinant(x.primal()))
    return Dual(x.point, found.value, None, found.degree._replace(kinds=found.degree.kinds | PIECEWISE))


@exact_rule("cofactors")
def _cofactors(op: Op, x: Dual) -> Dual:
    """`det(A) * inv(A).mT`, for any regular matrix."""
    return _cofactor_matrix(x)[0]


def _cofactor_matrix(x: Dual) -> tuple[Dual, Dual]:
    """The cofactors and `inv(A).mT`."""
    transposed = apply("mT", inverse(x))
    each = apply("unsqueeze", apply("unsqueeze", determinant(x), -1), -1)
    return times(each, transposed), transposed


@exact_rule("det_hessian", operands=(0, 1))
def _det_hessian(op: Op, x: Dual, direction: Dual) -> Dual:
    """With B = inv(A).mT: `<G, B> C - B @ G.mT @ C`, C the cofactors."""
    cofactors, b = _cofactor_matrix(x)
    along = summed(times(direction, b), (-2, -1), True)
    return minus(times(along, cofactors), matmul(matmul(b, apply("mT", direction)), cofactors))
