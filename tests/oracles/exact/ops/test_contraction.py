"""Sums by Einstein's convention, of one operand and of more."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.autograd.op import TABLE
from gradcheck.oracles.exact import ops
from tests.oracles.exact.calls import exact, operands

assert ops


@pytest.mark.parametrize("equation", ["ij,jk,kl->il", "ij,jk,kl->", "ij,jk,kl->jil"])
def test_three_operands(equation: str) -> None:
    factors = operands((2, 3), (3, 4), (4, 2))
    found = TABLE["einsum"](equation, factors)
    assert np.array_equal(found.value, exact(equation, *(x.value for x in factors)))


def test_the_product_rule() -> None:
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
