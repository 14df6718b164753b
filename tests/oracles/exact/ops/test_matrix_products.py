"""Products of matrices, lazily where there are two, and their derivatives."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.autograd.op import TABLE
from gradcheck.errors import ShapeMismatch
from gradcheck.oracles.exact.ops.matrix_products import matmul, product
from tests.oracles.exact.calls import PRIME, exact, operands


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
