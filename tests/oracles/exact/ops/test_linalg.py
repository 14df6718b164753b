"""Linear algebra by elimination: regular matrices, singular ones, and known derivatives."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.autograd.op import TABLE
from gradcheck.oracles.exact import modular
from gradcheck.oracles.exact.dual import DivisionByZero, Dual
from gradcheck.oracles.exact.ops.linalg import determinant, inverse, invert
from tests.oracles.exact.calls import PRIME, point


def test_elimination() -> None:
    """Regular matrices with zeros on their diagonals, in batches."""
    generator = np.random.default_rng(0)
    for n in (0, 1, 2, 5, 9):
        matrices = generator.integers(0, PRIME, (3, n, n))
        matrices[1] = np.eye(n, dtype=np.int64)[::-1]
        identity = np.broadcast_to(np.eye(n, dtype=np.int64), matrices.shape)
        inverses, determinants = invert(matrices, PRIME)
        products = modular.bilinear(np.matmul, matrices, inverses, max(n, 1), PRIME)
        assert np.array_equal(products, identity)
        sign = round(np.linalg.det(np.eye(n)[::-1])) if n else 1
        assert determinants[1] == sign % PRIME


def test_singular_matrices_divide_by_zero() -> None:
    with pytest.raises(DivisionByZero):
        TABLE["linalg.inv"](Dual(point(), np.ones((2, 2), dtype=np.int64)))


def test_derivatives_of_a_two_by_two_matrix() -> None:
    """Along the direction that moves the first entry: det is ad - bc, and `d inv = -inv[:, 0] inv[0, :]`."""
    direction = np.array([[1, 0], [0, 0]])
    x = Dual(point(), np.array([[3, 5], [7, 11]]), direction)
    found = determinant(x)
    assert (found.value - (33 - 35)) % PRIME == 0
    assert found.tangent == 11
    inverted = inverse(x)
    assert inverted.tangent is not None
    outer = np.outer(inverted.value[:, 0], inverted.value[0]) % PRIME
    assert np.array_equal(inverted.tangent, -outer % PRIME)


def test_the_sign_of_a_determinant_does_not_move() -> None:
    x = Dual(point(), np.array([[3, 5], [7, 11]]), np.ones((2, 2), dtype=np.int64))
    assert TABLE["det_sign"](x).tangent is None
    logarithm = TABLE["logabsdet"](x)
    assert np.array_equal(logarithm.tangent * determinant(x).value % PRIME, determinant(x).tangent)
