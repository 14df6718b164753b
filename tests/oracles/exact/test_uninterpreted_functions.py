"""Uninterpreted functions on dual numbers: congruence, oddness, and the chain rule."""

from __future__ import annotations

import numpy as np

from gradcheck.oracles.exact import ops
from gradcheck.oracles.exact.degree import UNINTERPRETED
from gradcheck.oracles.exact.dual_numbers import lift
from gradcheck.oracles.exact.uninterpreted_functions import (
    chain_rule,
    chain_rule_of_two,
    combine_arguments,
    function_of_two,
    odd_function,
    uninterpreted,
    up_to_sign,
)
from tests.oracles.exact.calls import PRIME
from tests.oracles.exact.identities import names

assert ops


def test_equal_arguments_have_equal_values() -> None:
    x = names()["x"]
    value = uninterpreted("f", x)
    assert np.array_equal(value.value, uninterpreted("f", x + 0).value)
    assert not np.any(value.value == uninterpreted("g", x).value)
    assert value.tangent is None
    assert value.degree.kinds & UNINTERPRETED


def test_odd_functions() -> None:
    x = names()["x"]
    assert np.array_equal(odd_function("f", -x).value, -odd_function("f", x).value % PRIME)
    assert odd_function("f", lift(x.point, 0)).value == 0
    size, flipped = up_to_sign(-x)
    assert np.array_equal(size, up_to_sign(x)[0])
    assert np.array_equal(flipped, ~up_to_sign(x)[1])
    assert np.all(size <= PRIME // 2)


def test_functions_of_pairs() -> None:
    scope = names()
    x, y = scope["x"], scope["y"]
    assert np.array_equal(function_of_two("f", x, y).value, function_of_two("f", x, y).value)
    assert not np.any(function_of_two("f", x, y).value == function_of_two("f", y, x).value)
    assert not np.any(combine_arguments(x, y).value == combine_arguments(y, x).value)
    assert x.point.uninterpreted == {"f"}


def test_the_chain_rule() -> None:
    scope = names()
    x, y = scope["x"], scope["y"]
    value = function_of_two("f", x, y)
    seven, nine = (lambda: lift(x.point, 7)), (lambda: lift(x.point, 9))
    assert np.array_equal(chain_rule(x, value, seven).tangent, 7 * x.tangent % PRIME)
    assert chain_rule(x.primal(), value, seven) is value
    both = chain_rule_of_two(value, (x, seven), (y, nine))
    assert np.array_equal(both.tangent, (7 * x.tangent + 9 * y.tangent) % PRIME)
    one = chain_rule_of_two(value, (x.primal(), seven), (y, nine))
    assert np.array_equal(one.tangent, 9 * y.tangent % PRIME)
    assert chain_rule_of_two(value, (x.primal(), seven), (y.primal(), nine)) is value
