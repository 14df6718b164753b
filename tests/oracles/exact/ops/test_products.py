"""Products of matrices, lazily where there are two, and sums by Einstein's convention."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.autograd.op import TABLE
from gradcheck.errors import ShapeMismatch
from gradcheck.oracles.exact.dual import Dual
from gradcheck.oracles.exact.ops.products import matmul, product
from tests.oracles.exact.calls import PRIME, point


def operands(*shapes: tuple[int, ...]) -> list[Dual]:
    at, generator = point(), np.random.default_rng(0)
    return [Dual(at, *(generator.integers(0, PRIME, shape) for _ in range(2))) for shape in shapes]


def exact(equation: str, *arrays: np.ndarray) -> np.ndarray:
    """In Python's integers."""
    return np.asarray(np.einsum(equation, *(array.astype(object) for array in arrays)) % PRIME).astype(np.int64)


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


@pytest.mark.parametrize("equation", ["ij,jk,kl->il", "ij,jk,kl->", "ij,jk,kl->jil"])
def test_three_operands(equation: str) -> None:
    factors = operands((2, 3), (3, 4), (4, 2))
    found = TABLE["einsum"](equation, factors)
    assert np.array_equal(found.value, exact(equation, *(x.value for x in factors)))


def test_one_operand() -> None:
    (x,) = operands((3, 3))
    assert np.array_equal(TABLE["einsum"]("ii->", [x]).value, np.trace(x.value) % PRIME)
    assert np.array_equal(TABLE["einsum"]("ij->ji", [x]).tangent, x.tangent.T)


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
