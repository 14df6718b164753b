"""Arithmetic of dual numbers: values modulo the prime, tangents by the rules of calculus, degrees that go along."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.oracles.exact import ops
from gradcheck.oracles.exact.algebra import (
    apply,
    constant,
    contract,
    minus,
    one,
    over,
    plus,
    product,
    reciprocal,
    squared,
    summed,
    times,
    without,
)
from gradcheck.oracles.exact.degree import Degree
from gradcheck.oracles.exact.dual import Dual
from gradcheck.oracles.exact.lazy_matmul import MatrixChain
from tests.oracles.exact.calls import PRIME, point

assert ops


def pair() -> tuple[Dual, Dual]:
    """x = 3 + 5 e in two elements, y = 7 + 11 e."""
    at = point()
    x = Dual(at, np.array([3, 3]), np.array([5, 5]), Degree(1, 0, 2))
    return x, Dual(at, np.array(7), np.array(11), Degree(1, 0, 2))


def numbers(x: Dual) -> tuple[list[int], list[int]]:
    assert x.tangent is not None
    return x.value.tolist(), x.tangent.tolist()


def test_sums_products_and_quotients() -> None:
    x, y = pair()
    assert numbers(plus(x, y)) == ([10, 10], [16, 16])
    assert numbers(minus(y, x)) == ([4, 4], [6, 6])
    assert numbers(minus(x, y)) == ([PRIME - 4] * 2, [PRIME - 6] * 2)
    assert numbers(times(x, y)) == ([21, 21], [3 * 11 + 5 * 7] * 2)
    assert numbers(squared(x)) == ([9, 9], [30, 30])
    quotient = over(x, y)
    assert numbers(times(quotient, y)) == ([3, 3], [5, 5])
    assert quotient.degree.denominator == 1


@pytest.mark.parametrize("sign", [1, -1])
def test_a_tangent_of_one_alone_broadcasts(sign: int) -> None:
    x, y = pair()
    still = x.primal()
    assert numbers(plus(still, y, sign))[1] == [sign * 11 % PRIME] * 2
    assert numbers(plus(y, still, sign))[1] == [11, 11]
    assert plus(still, still).tangent is None
    assert numbers(times(still, y))[1] == [33, 33]
    assert times(still, still).tangent is None


def test_nothing_is_divided_by_0() -> None:
    with pytest.raises(ZeroDivisionError):
        reciprocal(minus(pair()[0], constant(pair()[0], 3)))


def test_constants() -> None:
    x, _ = pair()
    assert one(x).value == 1
    assert constant(x, 0.5).value * 2 % PRIME == 1
    assert apply("neg", x).value.tolist() == [PRIME - 3] * 2


def test_sums_over_dimensions() -> None:
    at = point()
    values = np.arange(24).reshape(2, 3, 4)
    x = Dual(at, values, PRIME - 1 - values, Degree(1, 1))
    for dim, axis in ((None, (0, 1, 2)), (1, (1,)), ([0, -1], (0, 2))):
        found = summed(x, dim)
        assert np.array_equal(found.value, values.sum(axis))
        assert np.array_equal(found.tangent, (PRIME - 1 - values).sum(axis) % PRIME)
        assert found.degree == x.degree.summed(24 // found.value.size)
        assert summed(x, dim, True).shape == values.sum(axis, keepdims=True).shape
    assert without(summed(x, 1, True), (1,)).shape == (2, 4)


def test_sums_of_chains_stay_chains() -> None:
    at, matrix = point(), np.arange(9).reshape(3, 3)
    x = product(Dual(at, matrix), Dual(at, matrix))
    columns = summed(x, 0, True)
    assert isinstance(columns.lazy_value, MatrixChain)
    assert np.array_equal(columns.value, (matrix @ matrix).sum(0, keepdims=True))
    assert summed(x).value == (matrix @ matrix).sum()


def test_products_of_matrices() -> None:
    at, generator = point(), np.random.default_rng(0)
    a, b = (Dual(at, *generator.integers(0, 50, (2, 3, 3))) for _ in range(2))
    assert a.tangent is not None
    tangent = a.tangent @ b.value + a.value @ b.tangent
    for found in (product(a, b), contract(np.matmul, a, b, 3)):
        assert np.array_equal(found.value, a.value @ b.value)
        assert np.array_equal(found.tangent, tangent)
    assert np.array_equal(product(a, b.primal()).tangent, a.tangent @ b.value)
    assert np.array_equal(contract(np.matmul, a.primal(), b, 3).tangent, a.value @ b.tangent)
    assert product(a.primal(), b.primal()).tangent is None
