"""How linear algebra acts on residues: by elimination."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from gradcheck.autograd.op import TABLE, Op
from gradcheck.oracles.exact import modular
from gradcheck.oracles.exact.degree import PIECES
from gradcheck.oracles.exact.dual import Residue, acts_on, lift
from gradcheck.oracles.exact.ops.arithmetic import plus, reciprocal, summed, times
from gradcheck.oracles.exact.ops.products import matmul
from gradcheck.oracles.exact.point import Point
from gradcheck.oracles.exact.uninterpreted import smooth, unknown


def _inverse(x: Residue) -> tuple[Residue, np.ndarray]:
    """The inverses and the determinants' values. The derivative of `inv(A)` is `-inv(A) @ dA @ inv(A)`."""
    n, prime = x.shape[-1], x.point.prime
    identity = np.broadcast_to(np.eye(n, dtype=np.int64), x.shape)
    value, determinant = eliminate(x.value, identity, prime)
    tangent = None
    if x.tangent is not None:
        half = modular.bilinear(np.matmul, value, x.tangent, n, prime)
        tangent = (-modular.bilinear(np.matmul, half, value, n, prime)) % prime
    return Residue(x.point, value, tangent, x.degree.inverse_matrix(n)), determinant


@acts_on("linalg.inv")
def _inv(point: Point, op: Op, x: Residue) -> Residue:
    return _inverse(x)[0]


@acts_on("linalg.solve")
def _solve(point: Point, op: Op, a: Any, b: Any, left: bool = True) -> Residue:
    """`inv(A) @ B`, or `B @ inv(A)`."""
    a, b = lift(point, a), lift(point, b)
    inverse = _inverse(a)[0]
    if b.ndim == 1 or (b.ndim == a.ndim - 1 and b.shape == a.shape[:-1]):
        column = TABLE["unsqueeze"](b, -1)
        return TABLE["squeeze"](matmul(inverse, column), -1)  # type: ignore[no-any-return]
    return matmul(inverse, b) if left else matmul(b, inverse)


@acts_on("linalg.det")
def determinant(point: Point, op: Op, x: Residue) -> Residue:
    """The derivative of `det(A)` is `det(A) * trace(inv(A) @ dA)` (Jacobi)."""
    n, prime = x.shape[-1], point.prime
    identity = np.broadcast_to(np.eye(n, dtype=np.int64), x.shape)
    inverted, value = eliminate(x.value, identity, prime)
    tangent = None
    if x.tangent is not None:
        slopes = modular.bilinear(np.matmul, inverted, x.tangent, n, prime)
        tangent = value * (np.trace(slopes, axis1=-2, axis2=-1) % prime) % prime
    return Residue(point, value, tangent, x.degree.determinant(n))


@acts_on("logabsdet")
def _logabsdet(point: Point, op: Op, x: Residue) -> Residue:
    """A logarithm, whose derivative is the determinant's divided by it."""
    found = determinant(point, op, x)
    return smooth(found, unknown("log(abs(x))", found), lambda: reciprocal(found.still()))


@acts_on("det_sign")
def _det_sign(point: Point, op: Op, x: Residue) -> Residue:
    """Some number, whose derivative is 0."""
    found = unknown("sign of a determinant", determinant(point, op, x.still()))
    return Residue(point, found.value, None, found.degree._replace(kind=found.degree.kind | PIECES))


@acts_on("cofactors")
def _cofactors(point: Point, op: Op, x: Residue) -> Residue:
    """`det(A) * inv(A).mT`, for any regular matrix."""
    return _cofactor_matrix(x)[0]


def _cofactor_matrix(x: Residue) -> tuple[Residue, Residue]:
    """The cofactors and `inv(A).mT`."""
    transposed: Residue = TABLE["mT"](_inverse(x)[0])
    return times(_per_matrix(determinant(x.point, TABLE["linalg.det"], x)), transposed), transposed


def _per_matrix(x: Residue) -> Residue:
    return TABLE["unsqueeze"](TABLE["unsqueeze"](x, -1), -1)  # type: ignore[no-any-return]


@acts_on("det_hessian")
def _det_hessian(point: Point, op: Op, x: Any, direction: Any) -> Residue:
    """With B = inv(A).mT: `<G, B> C - B @ G.mT @ C`, C the cofactors."""
    x, direction = lift(point, x), lift(point, direction)
    cofactors, b = _cofactor_matrix(x)
    along = summed(times(direction, b), (-2, -1), True)
    return plus(times(along, cofactors), matmul(matmul(b, TABLE["mT"](direction)), cofactors), -1)


def eliminate(matrices: np.ndarray, right: np.ndarray, prime: int) -> tuple[np.ndarray, np.ndarray]:
    """`inv(matrices) @ right` and the determinants, by Gauss and Jordan's elimination without divisions by 0."""
    n, batch = matrices.shape[-1], prod(matrices.shape[:-2])
    rows = np.concatenate([matrices, right], axis=-1).reshape(batch, n, n + right.shape[-1]).copy()
    determinant = np.ones(batch, dtype=np.int64)
    each = np.arange(batch)
    for column in range(n):
        pivot = column + np.argmax(rows[:, column:, column] != 0, axis=1)
        swapped = pivot != column
        rows[each, pivot], rows[:, column] = rows[:, column].copy(), rows[each, pivot].copy()
        head = rows[:, column, column]
        determinant = determinant * np.where(swapped, prime - head, head) % prime
        rows[:, column] = rows[:, column] * modular.inverse(head, prime)[:, None] % prime
        factors = rows[:, :, column].copy()
        factors[:, column] = 0
        rows = (rows - factors[:, :, None] * rows[:, column, None, :]) % prime
    return rows[:, :, n:].reshape(right.shape), determinant.reshape(matrices.shape[:-2])
