"""Patterns: each on an example, and what has another form."""

from __future__ import annotations

import pytest

from gradcheck.language.expr.parser import parse
from gradcheck.language.symbolic.simplify.patterns import PATTERNS, by_pattern
from tests.language.symbolic.simplify.examples import alone, know

EXAMPLES = [
    ("reshape(reshape(x, (-1,)), (m, n))", "reshape(x, (m, n))"),
    ("squeeze(unsqueeze(v, 1), 1)", "v"),
    ("flip(flip(x, (1,)), (1,))", "x"),
    ("diagonal_scatter(zeros_like(x), ones_like(diagonal(x)))", "eye(x.shape[0], x.shape[1])"),
    ("diagonal_scatter(zeros_like(x), expand(s, diagonal(x).shape))", "s * eye(x.shape[0], x.shape[1])"),
    ("x.T.T @ v", "x @ v"),
    ("outer(u, v).T", "outer(v, u)"),
    ("b.mT.mT", "b"),
    ("x[0,]", "x[0]"),
    ("x[:]", "x"),
    ("-(-x)", "x"),
    ("x ** 1", "x"),
    ("y * x ** 0", "y * ones_like(x)"),
    ("conj(conj(z))", "z"),
    ("linalg.inv(linalg.inv(a)) @ x", "a @ x"),
    ("linalg.inv(a.T)", "linalg.inv(a).T"),
    ("sqrt(exp(x)) ** 2", "exp(x)"),
    ("exp(log_softmax(x, dim=1))", "softmax(x, dim=1)"),
    ("unsqueeze(ones_like(v), dim=0)", "ones_like(unsqueeze(v, dim=0))"),
    ("sgn(x) * abs(x)", "x"),
    ("y * (sign(x) / abs(x))", "y * (1 / x)"),
    ("-sign(x) / abs(x)", "-1 / x"),
    ("abs(x) * sgn(x)", "x"),
    ("sgn(z)", "sgn(z)"),
    ("tanh(expand(v, x.shape))", "expand(tanh(v), x.shape)"),
]


@pytest.mark.parametrize(("before", "after"), EXAMPLES)
def test_patterns_alone(before: str, after: str) -> None:
    assert alone(by_pattern, before) == after


@pytest.mark.parametrize(("before", "after"), PATTERNS)
def test_a_pattern_rewrites_what_is_of_its_form_alone(before: str, after: str) -> None:
    facts = know()
    made = by_pattern(facts.pool.intern(parse(before)), facts)
    assert made == parse(after)
    assert by_pattern(facts.pool.intern(parse("maximum(x, y)")), facts) is None


def test_a_letter_that_a_pattern_has_twice_stands_for_one_part() -> None:
    facts = know()
    assert by_pattern(facts.pool.intern(parse("flip(flip(x, (1,)), (0,))")), facts) is None
