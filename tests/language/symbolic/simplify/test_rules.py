"""The rules as a whole: patterns, and an example for every rule."""

from __future__ import annotations

import pytest

from gradcheck.language.expr.parser import parse
from gradcheck.language.symbolic.simplify.rules import PATTERNS, RULES, by_pattern
from tests.language.symbolic.simplify import test_call_style, test_elementwise, test_products, test_rearranging
from tests.language.symbolic.simplify.examples import alone, know

EXAMPLES = [
    ("reshape(reshape(x, (-1,)), (m, n))", "reshape(x, (m, n))"),
    ("squeeze(unsqueeze(v, 1), 1)", "v"),
    ("flip(flip(x, (1,)), (1,))", "x"),
    ("diagonal_scatter(zeros_like(x), ones_like(diagonal(x)))", "eye(x.shape[0], x.shape[1])"),
    ("diagonal_scatter(zeros_like(x), expand(s, diagonal(x).shape))", "s * eye(x.shape[0], x.shape[1])"),
    ("x.T.T @ v", "x @ v"),
    ("b.mT.mT", "b"),
    ("x[0,]", "x[0]"),
    ("x[:]", "x"),
    ("-(-x)", "x"),
    ("x ** 1", "x"),
    ("y * x ** 0", "y * ones_like(x)"),
    ("conj(conj(z))", "z"),
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


def test_every_rule_has_an_example() -> None:
    modules = (test_rearranging, test_elementwise, test_products, test_call_style)
    shown = {rule for module in modules for rule, _, _ in module.EXAMPLES}
    assert set(RULES) == {*shown, by_pattern}
