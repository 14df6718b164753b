"""Determinants, their logarithms, signs and cofactors: of a matrix of two rows."""

from __future__ import annotations

import numpy as np

from gradcheck.autograd.op import TABLE
from gradcheck.oracles.exact import ops
from gradcheck.oracles.exact.dual import Dual
from gradcheck.oracles.exact.ops.determinants import determinant
from tests.oracles.exact.calls import PRIME, point

assert ops


def matrix() -> Dual:
    """Of determinant 3 * 11 - 5 * 7, the first entry of which moves."""
    return Dual(point(), np.array([[3, 5], [7, 11]]), np.array([[1, 0], [0, 0]]))


def test_the_determinant() -> None:
    found = determinant(matrix())
    assert found.value == -2 % PRIME
    assert found.tangent == 11


def test_its_sign_does_not_move() -> None:
    assert TABLE["det_sign"](matrix()).tangent is None


def test_the_logarithm_has_the_derivative_of_one() -> None:
    logarithm, found = TABLE["logabsdet"](matrix()), determinant(matrix())
    assert np.array_equal(logarithm.tangent * found.value % PRIME, found.tangent)


def test_cofactors() -> None:
    assert np.array_equal(TABLE["cofactors"](matrix()).value, np.array([[11, -7], [-5, 3]]) % PRIME)


def test_how_cofactors_change() -> None:
    """Of two rows they are linear in the matrix: along a direction they change by the direction's own."""
    direction = np.array([[1, 2], [3, 4]])
    found = TABLE["det_hessian"](matrix().primal(), direction)
    assert np.array_equal(found.value, np.array([[4, -3], [-2, 1]]) % PRIME)
