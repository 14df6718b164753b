"""Uninterpreted functions on dual numbers: congruence, oddness, the chain rule, and exponentials that are defined."""

from __future__ import annotations

import numpy as np

from gradcheck.oracles.exact import modular, ops
from gradcheck.oracles.exact.algebra import constant, plus, times
from gradcheck.oracles.exact.degree import UNINTERPRETED
from gradcheck.oracles.exact.dual import Dual
from gradcheck.oracles.exact.uninterpreted import (
    chain_rule,
    chain_rule_of_two,
    exp,
    has_exponential,
    log,
    odd,
    of_two,
    pair,
    uninterpreted,
    up_to_sign,
)
from tests.oracles.exact.calls import PRIME
from tests.oracles.exact.identities import names

assert ops


def negative(x: Dual) -> Dual:
    return times(x, constant(x, -1))


def test_equal_arguments_have_equal_values() -> None:
    x = names()["x"]
    value = uninterpreted("f", x)
    assert np.array_equal(value.value, uninterpreted("f", plus(x, constant(x, 0))).value)
    assert not np.any(value.value == uninterpreted("g", x).value)
    assert value.tangent is None
    assert value.degree.kinds & UNINTERPRETED


def test_odd_functions() -> None:
    x = names()["x"]
    assert np.array_equal(odd("f", negative(x)).value, -odd("f", x).value % PRIME)
    assert odd("f", constant(x, 0)).value == 0
    size, flipped = up_to_sign(negative(x))
    assert np.array_equal(size, up_to_sign(x)[0])
    assert np.array_equal(flipped, ~up_to_sign(x)[1])
    assert np.all(size <= PRIME // 2)


def test_functions_of_pairs() -> None:
    scope = names()
    x, y = scope["x"], scope["y"]
    assert np.array_equal(of_two("f", x, y).value, of_two("f", x, y).value)
    assert not np.any(of_two("f", x, y).value == of_two("f", y, x).value)
    assert not np.any(pair(x, y).value == pair(y, x).value)
    assert x.point.uninterpreted == {"f"}


def test_the_chain_rule() -> None:
    scope = names()
    x, y = scope["x"], scope["y"]
    value = of_two("f", x, y)
    seven, nine = (lambda: constant(x, 7)), (lambda: constant(x, 9))
    assert np.array_equal(chain_rule(x, value, seven).tangent, 7 * x.tangent % PRIME)
    assert chain_rule(x.primal(), value, seven) is value
    both = chain_rule_of_two(value, (x, seven), (y, nine))
    assert np.array_equal(both.tangent, (7 * x.tangent + 9 * y.tangent) % PRIME)
    one = chain_rule_of_two(value, (x.primal(), seven), (y, nine))
    assert np.array_equal(one.tangent, 9 * y.tangent % PRIME)
    assert chain_rule_of_two(value, (x.primal(), seven), (y.primal(), nine)) is value


def test_exponentials() -> None:
    x = names()["x"]
    e = exp(x)
    assert np.array_equal(exp(negative(x)).value, modular.inverse(e.value, PRIME))
    assert np.array_equal(e.tangent, e.value * x.tangent % PRIME)
    assert exp(constant(x, 0)).value == 1
    assert np.array_equal(exp(log(x)).value, x.value)


def test_an_exponential_that_is_defined() -> None:
    scope = names()
    x, y = scope["x"], scope["y"]
    has_exponential(x, y)
    assert np.array_equal(exp(x).value, y.value)


def test_the_exponential_of_minus_infinity_is_0() -> None:
    x = names()["x"]
    endless = Dual(x.point, np.array([x.point.infinity(-1), 3]))
    assert exp(endless).value[0] == 0
    assert exp(endless).value[1] != 0
