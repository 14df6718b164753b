"""Exponentials and logarithms: what is known of them holds, and no more is assumed."""

from __future__ import annotations

import pytest

from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.expr.parser import parse
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
