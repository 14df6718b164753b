"""Products, contractions, inverses and determinants of matrices."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.autograd.op import TABLE
from gradcheck.errors import ShapeMismatch
from gradcheck.oracles.exact import modular_arithmetic, ops
from gradcheck.oracles.exact.dual_numbers import DivisionByZero, Dual
from gradcheck.oracles.exact.ops.matrices import determinant, inverse, invert, matmul, product
from tests.oracles.exact.calls import PRIME, exact, operands, point

assert ops


@pytest.mark.parametrize(
    ("first", "second", "equation"),
    [
        ((3, 4), (4, 5), "ij,jk->ik"),
        ((4,), (4,), "j,j->"),
        ((3, 4), (4,), "ij,j->i"),
        ((2, 3, 4), (4, 5), "bij,jk->bik"),
        ((2, 3, 4), (2, 4, 5), "bij,bjk->bik"),
    ],
)
def test_the_product_rule(first: tuple[int, ...], second: tuple[int, ...], equation: str) -> None:
    a, b = operands(first, second)
    assert a.tangent is not None
    assert b.tangent is not None
    tangent = (exact(equation, a.tangent, b.value) + exact(equation, a.value, b.tangent)) % PRIME
    for found in (matmul(a, b), TABLE["einsum"](equation, [a, b])):
        assert np.array_equal(found.value, exact(equation, a.value, b.value))
        assert np.array_equal(found.tangent, tangent)
        assert found.degree.numerator == 2


def test_a_tangent_of_one_operand_alone() -> None:
    a, b = operands((3, 4), (4, 5))
    assert a.tangent is not None
    assert b.tangent is not None
    for multiply in (product, lambda a, b: TABLE["einsum"]("ij,jk->ik", [a, b])):
        assert np.array_equal(multiply(a, b.primal()).tangent, exact("ij,jk->ik", a.tangent, b.value))
        assert np.array_equal(multiply(a.primal(), b).tangent, exact("ij,jk->ik", a.value, b.tangent))
        assert multiply(a.primal(), b.primal()).tangent is None


def test_shapes_are_checked() -> None:
    a, b = operands((2, 3), (2, 3))
    with pytest.raises(ShapeMismatch, match=r"shapes \(2, 3\) and \(2, 3\)"):
        matmul(a, b)


@pytest.mark.parametrize("equation", ["ij,jk,kl->il", "ij,jk,kl->", "ij,jk,kl->jil"])
def test_three_operands(equation: str) -> None:
    factors = operands((2, 3), (3, 4), (4, 2))
    found = TABLE["einsum"](equation, factors)
    assert np.array_equal(found.value, exact(equation, *(x.value for x in factors)))


def test_the_product_rule_of_contractions() -> None:
    a, b, c = operands((2, 3), (3, 4), (4, 2))
    terms = ((a.tangent, b.value, c.value), (a.value, b.tangent, c.value), (a.value, b.value, c.tangent))
    want = sum(exact("ij,jk,kl->il", *(array for array in term if array is not None)) for term in terms)
    assert np.array_equal(TABLE["einsum"]("ij,jk,kl->il", [a, b, c]).tangent, want % a.point.prime)


def test_one_operand() -> None:
    (x,) = operands((3, 3))
    assert x.tangent is not None
    assert np.array_equal(TABLE["einsum"]("ii->", [x]).value, np.trace(x.value) % x.point.prime)
    assert np.array_equal(TABLE["einsum"]("ij->ji", [x]).tangent, x.tangent.T)


def test_plain_arrays_beside_dual_numbers() -> None:
    (x,) = operands((3,))
    assert np.array_equal(TABLE["einsum"]("i,i->i", [x, np.full(3, 2.0)]).value, 2 * x.value % x.point.prime)


def test_elimination() -> None:
    """Regular matrices with zeros on their diagonals, in batches."""
    generator = np.random.default_rng(0)
    for n in (0, 1, 2, 5, 9):
        matrices = generator.integers(0, PRIME, (3, n, n))
        matrices[1] = np.eye(n, dtype=np.int64)[::-1]
        identity = np.broadcast_to(np.eye(n, dtype=np.int64), matrices.shape)
        inverses, determinants = invert(matrices, PRIME)
        products = modular_arithmetic.bilinear(np.matmul, matrices, inverses, max(n, 1), PRIME)
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
