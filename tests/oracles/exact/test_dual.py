"""Dual numbers: what is lifted to them, which ops they take, and how a rule gets its arguments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from gradcheck.autograd.op import TABLE, Op
from gradcheck.errors import ShapeMismatch, Unsupported
from gradcheck.oracles.exact import ops
from gradcheck.oracles.exact.degree import Degree
from gradcheck.oracles.exact.dual import EXACT_RULES, DivisionByZero, Dual, ExactRule, Indicator, exact_rule, lift
from gradcheck.oracles.exact.lazy_matmul import MatrixChain
from tests.oracles.exact.calls import PRIME, point

assert ops


@pytest.fixture
def rule_of_argsort() -> Iterator[list[Any]]:
    """A rule for an op that has none: what it was given."""
    given: list[Any] = []
    EXACT_RULES["argsort"] = ExactRule(lambda op, *args: given.append((op, *args)), (0,))
    yield given
    del EXACT_RULES["argsort"]


def test_an_op_has_one_rule() -> None:
    with pytest.raises(ValueError, match="already"):
        exact_rule("add")(lambda *args: None)


def test_a_rule_gets_duals_where_it_asks_for_them(rule_of_argsort: list[Any]) -> None:
    x = Dual(point(), np.arange(3))
    TABLE["argsort"](x)
    ((op, operand, *settings),) = rule_of_argsort
    assert isinstance(op, Op)
    assert operand is x
    assert len(settings) == len(op.parameters) - 1
    added: list[Any] = []
    known = EXACT_RULES["add"]
    EXACT_RULES["add"] = ExactRule(lambda op, a, b, alpha: added.append((a, b, alpha)), known.operands)
    try:
        TABLE["add"](0.5, x)
    finally:
        EXACT_RULES["add"] = known
    ((a, b, alpha),) = added
    assert a.value * 2 % PRIME == 1
    assert (b, alpha) == (x, 1)


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
