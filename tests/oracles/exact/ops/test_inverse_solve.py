"""Inverses by elimination: of regular matrices, of singular ones, and their derivative."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.autograd.op import TABLE
from gradcheck.oracles.exact import modular
from gradcheck.oracles.exact.dual import DivisionByZero, Dual
from gradcheck.oracles.exact.ops.inverse_solve import inverse, invert
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


def test_the_derivative_of_an_inverse() -> None:
    """Along the direction that moves the first entry: `d inv = -inv[:, 0] inv[0, :]`."""
    x = Dual(point(), np.array([[3, 5], [7, 11]]), np.array([[1, 0], [0, 0]]))
    inverted = inverse(x)
    assert np.array_equal(x.value @ inverted.value % PRIME, np.eye(2))
    assert inverted.tangent is not None
    outer = np.outer(inverted.value[:, 0], inverted.value[0]) % PRIME
    assert np.array_equal(inverted.tangent, -outer % PRIME)


def test_systems() -> None:
    at, generator = point(), np.random.default_rng(0)
    a, b, c = (Dual(at, generator.integers(0, 9, shape)) for shape in ((3, 3), (3,), (3, 3)))
    assert np.array_equal(a.value @ TABLE["linalg.solve"](a, b).value % PRIME, b.value)
    assert np.array_equal(a.value @ TABLE["linalg.solve"](a, c).value % PRIME, c.value)
    assert np.array_equal(TABLE["linalg.solve"](a, c, left=False).value @ a.value % PRIME, c.value)
