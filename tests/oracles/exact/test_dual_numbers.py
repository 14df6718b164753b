"""Dual numbers: their arithmetic, what is lifted to them, which ops they take, and how a rule gets its arguments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from gradcheck.autograd.op import TABLE
from gradcheck.errors import ShapeMismatch, Unsupported
from gradcheck.oracles.exact import ops
from gradcheck.oracles.exact.degree import Degree
from gradcheck.oracles.exact.dual_numbers import (
    EXACT_RULES,
    DivisionByZero,
    Dual,
    ExactRule,
    Indicator,
    exact_rule,
    lift,
)
from gradcheck.oracles.exact.modular_matrices import MatrixChain
from tests.oracles.exact.calls import PRIME, point

assert ops


@pytest.fixture
def rule_of_argsort() -> Iterator[list[Any]]:
    """A rule for an op that has none: what it was given."""
    given: list[Any] = []
    EXACT_RULES["argsort"] = ExactRule(lambda *args: given.append(args), (0,))
    yield given
    del EXACT_RULES["argsort"]


# Arithmetic ----------------------------------------------------------------------------------------


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
    assert numbers(x + y) == ([10, 10], [16, 16])
    assert numbers(y - x) == ([4, 4], [6, 6])
    assert numbers(x - y) == ([PRIME - 4] * 2, [PRIME - 6] * 2)
    assert numbers(x * y) == ([21, 21], [3 * 11 + 5 * 7] * 2)
    assert numbers(x * x) == ([9, 9], [30, 30])
    assert numbers(-x) == ([PRIME - 3] * 2, [PRIME - 5] * 2)
    assert numbers((x / y) * y) == ([3, 3], [5, 5])
    assert (x / y).degree.denominator == 1


def test_numbers_on_either_side() -> None:
    x, _ = pair()
    assert numbers(1 + x) == numbers(x + 1) == ([4, 4], [5, 5])
    assert numbers(10 - x) == ([7, 7], [PRIME - 5] * 2)
    assert numbers(0.5 * x * 2) == numbers(x)
    assert numbers(1 / x * x) == ([1, 1], [0, 0])
    assert numbers(2 / x * x) == ([2, 2], [0, 0])
    assert (np.float64(2) * x).value.tolist() == [6, 6]
    assert (1 / x).degree == x.reciprocal().degree


@pytest.mark.parametrize("sign", [1, -1])
def test_a_tangent_of_one_alone_broadcasts(sign: int) -> None:
    x, y = pair()
    still = x.primal()
    assert numbers(still + sign * y)[1] == [sign * 11 % PRIME] * 2
    assert numbers(y + sign * still)[1] == [11, 11]
    assert (still + still).tangent is None
    assert numbers(still * y)[1] == [33, 33]
    assert (still * still).tangent is None


def test_nothing_is_divided_by_0() -> None:
    x, _ = pair()
    with pytest.raises(ZeroDivisionError):
        (x - 3).reciprocal()


def test_a_sum_with_minus_infinity_is_minus_infinity() -> None:
    at = point()
    endless = at.infinity(-1)
    x = Dual(at, np.array([endless, 5]), np.array([1, 1]))
    assert numbers(x + 3) == ([endless, 8], [0, 1])


def test_the_square_of_a_root_where_it_is_kept() -> None:
    at = point()
    at.keeps_squares = True
    root = TABLE["sqrt"](Dual(at, np.array([7, 11])))
    assert (root * root).value.tolist() == [7, 11]
    assert (root * Dual(at, root.value)).value.tolist() == (root.value**2 % PRIME).tolist()


# Ops -----------------------------------------------------------------------------------------------


def test_a_rule_gets_duals_where_it_asks_for_them(rule_of_argsort: list[Any]) -> None:
    x = Dual(point(), np.arange(3))
    TABLE["argsort"](x)
    ((operand, *settings),) = rule_of_argsort
    assert operand is x
    assert len(settings) == len(TABLE["argsort"].parameters) - 1
    added: list[Any] = []
    known = EXACT_RULES["add"]
    EXACT_RULES["add"] = ExactRule(lambda a, b, alpha: added.append((a, b, alpha)), known.operands)
    try:
        TABLE["add"](0.5, x)
    finally:
        EXACT_RULES["add"] = known
    ((a, b, alpha),) = added
    assert a.value * 2 % PRIME == 1
    assert b is x
    assert alpha == 1


def test_what_is_no_operation_of_exact_arithmetic() -> None:
    x = Dual(point(), np.arange(6).reshape(2, 3))
    with pytest.raises(Unsupported, match="argsort"):
        TABLE["argsort"](x)


def test_errors_are_gradcheck_s_own() -> None:
    x = Dual(point(), np.arange(6).reshape(2, 3))
    with pytest.raises(ShapeMismatch):
        TABLE["matmul"](x, x)
    with pytest.raises(DivisionByZero):
        TABLE["reciprocal"](x)
    with pytest.raises(Unsupported, match="sum in another kind of numbers"):
        TABLE["sum"](x, dtype=np.dtype(np.int64))


def test_lifting() -> None:
    at = point()
    assert lift(at, -1).value == PRIME - 1
    assert lift(at, True).value == 1
    assert lift(at, np.array([0.5])).value * 2 % PRIME == 1
    assert lift(at, np.array(3, dtype=np.uint8)).degree == Degree()
    assert lift(at, np.array([2**0.5])).degree == Degree(2, 2)
    with pytest.raises(Unsupported):
        lift(at, np.array([np.nan]))
    with pytest.raises(Unsupported):
        lift(at, np.array([1j]))


def test_the_primal_is_a_constant() -> None:
    x = Dual(point(), np.arange(3), np.arange(3), Degree(1, 2, 3, 4, 1))
    assert x.primal().tangent is None
    assert x.primal().degree == Degree(1, 2, 0, 0, 1)
    assert x.primal().primal().degree == x.primal().degree
    c = Indicator(point(), np.arange(3), np.arange(3))
    assert isinstance(c.primal(), Indicator)


def test_chains_are_multiplied_out_when_somebody_asks() -> None:
    x = Dual(point(), np.arange(4).reshape(2, 2), np.ones((2, 2), dtype=np.int64))
    chain, tangent = x.value_chain(), x.tangent_chain()
    assert isinstance(x.lazy_value, MatrixChain)
    assert tangent is not None
    product = Dual(x.point, chain @ chain, tangent @ chain)
    assert product.shape == (2, 2)
    assert product.value.tolist() == [[2, 3], [6, 11]]
    assert product.tangent.tolist() == [[2, 4], [2, 4]]
    assert x.primal().tangent_chain() is None


def test_an_op_has_one_rule() -> None:
    known = EXACT_RULES["add"]
    with pytest.raises(ValueError, match="'add' already"):
        exact_rule("add")(lambda a, b: None)
    assert EXACT_RULES["add"] is known


def test_a_rule_serves_several_ops_and_stays_a_function() -> None:
    def first(x: int) -> int:
        return x + 1

    try:
        assert exact_rule("no op", "nor this one", operands=(0, 2))(first) is first
        assert EXACT_RULES["no op"] == EXACT_RULES["nor this one"]
        assert EXACT_RULES["no op"].function(1) == 2
        assert EXACT_RULES["no op"].operands == (0, 2)
    finally:
        for name in ("no op", "nor this one"):
            EXACT_RULES.pop(name, None)
