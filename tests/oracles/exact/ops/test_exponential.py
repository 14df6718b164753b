"""Exponentials and logarithms: what is known of them holds, and no more is assumed."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.expr.parser import parse
from gradcheck.oracles.exact import modular
from gradcheck.oracles.exact.dual import Dual, lift
from gradcheck.oracles.exact.ops.exponential import exp, has_exponential, log
from tests.oracles.exact.calls import PRIME
from tests.oracles.exact.identities import assert_different, assert_identity, names


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("exp(x) * exp(-x)", "ones(5)"),
        ("exp(0 * x)", "ones(5)"),
        ("exp(log(x))", "x"),
        ("exp(logsumexp(x, 0))", "exp(x).sum()"),
        ("exp(log_softmax(x, 0))", "softmax(x, 0)"),
        ("exp(x - logsumexp(x, 0))", "softmax(x, 0)"),
        ("expm1(x) + 1", "exp(x)"),
        ("log1p(x)", "log(1 + x)"),
        ("erf(x) + erfc(x)", "ones(5)"),
        ("erf(-x)", "-erf(x)"),
        ("softmax(x, 0).sum()", "tensor(1.0)"),
        ("exp2(x)", "2 ** x"),
        ("log2(x) * 0.6931471805599453", "log(x)"),
        ("log10(x) * 2.302585092994046", "log(x)"),
        ("logaddexp(x, y)", "log(exp(x) + exp(y))"),
        ("logaddexp(x, y) - x", "log1p(exp(y - x)) + 0 * x + logaddexp(x, y) - x - log1p(exp(y - x))"),
        ("xlogy(x, y)", "x * log(y)"),
    ],
)
def test_what_is_known(left: str, right: str) -> None:
    assert_identity(left, right)


@pytest.mark.parametrize(
    ("left", "right"), [("exp(x + y)", "exp(x) * exp(y)"), ("log(x * y)", "log(x) + log(y)"), ("exp(x)", "exp(2 * x)")]
)
def test_what_is_not(left: str, right: str) -> None:
    assert_different(left, right)


def test_what_was_asked_for_is_noted() -> None:
    scope = names()
    evaluate(parse("exp(x) + sin(log(y))"), scope)
    assert scope["x"].point.uninterpreted == {"exp", "tan(x / 2)", "log"}
    assert scope["x"].point.nested


def test_exponentials() -> None:
    x = names()["x"]
    e = exp(x)
    assert np.array_equal(exp(-x).value, modular.inverse(e.value, PRIME))
    assert np.array_equal(e.tangent, e.value * x.tangent % PRIME)
    assert exp(lift(x.point, 0)).value == 1
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
