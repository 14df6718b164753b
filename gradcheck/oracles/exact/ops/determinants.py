"""Determinants, and what their derivatives are made of."""

from __future__ import annotations

import numpy as np

from gradcheck.oracles.exact import modular
from gradcheck.oracles.exact.degree import PIECEWISE
from gradcheck.oracles.exact.dual import Dual
from gradcheck.oracles.exact.ops.inverse_solve import inverse, invert
from gradcheck.oracles.exact.ops.matrix_products import matmul
from gradcheck.oracles.exact.ops.reductions import summed
from gradcheck.oracles.exact.rules import exact_rule
from gradcheck.oracles.exact.uninterpreted import chain_rule, uninterpreted


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
