"""What terms have in common: each rule on an example, and what must stay."""

from __future__ import annotations

import pytest

from gradcheck.language.expr.parser import parse
from gradcheck.language.symbolic.simplify import factoring
from gradcheck.language.symbolic.simplify.simplifier import Rule
from tests.language.symbolic.simplify.examples import alone

EXAMPLES: list[tuple[Rule, str, str]] = [
    (factoring.common_matrix, "a.T @ x + a @ x", "(a + a.T) @ x"),
    (factoring.common_matrix, "u @ a + a @ u", "(a + a.T) @ u"),
    (factoring.common_matrix, "a @ x + a @ y", "a @ (x + y)"),
    (factoring.common_matrix, "s * (a @ x) + 2 * s * (a @ y)", "a @ (x + 2 * y) * s"),
    (factoring.common_matrix, "(x @ x.T) @ u + u @ (x @ x.T)", "2 * (x @ x.T @ u)"),
    (factoring.common_matrix, "outer(u, v) + outer(a @ u, v)", "outer(u + a @ u, v)"),
    (factoring.common_matrix, "outer(a @ u, v) + outer(a @ (a @ u), v)", "outer((a + a @ a) @ u, v)"),
    (factoring.common_matrix, "outer(x @ v @ a, u) + outer(a @ (x @ v), u)", "outer((a + a.T) @ x @ v, u)"),
    (factoring.common_transpose, "(a @ x).T + 2 * y.T", "(a @ x + 2 * y).T"),
    (factoring.common_factor, "x / m - y / m", "(x - y) / m"),
    (factoring.common_factor, "2 * x + 2 * s * y", "2 * (x + s * y)"),
    (factoring.common_factor, "x * v - y * v + x", "v * (x - y) + x"),
    (factoring.sigmoid_complement, "1 - x - sigmoid(-y)", "sigmoid(y) - x"),
]


@pytest.mark.parametrize(("rule", "before", "after"), EXAMPLES, ids=[f"{r.__name__}: {b}" for r, b, _ in EXAMPLES])
def test_a_rule_alone(rule: Rule, before: str, after: str) -> None:
    assert alone(rule, before) == after


@pytest.mark.parametrize(
    "text", ["0 * x - 0 * y", "a @ x + x", "x * y + x", "2 * x + 4 * y", "1 - x - sigmoid(y)", "x.T + a @ x.T"]
)
def test_what_has_nothing_in_common_stays(text: str) -> None:
    for rule, _, _ in EXAMPLES:
        if text != "x.T + a @ x.T":
            assert alone(rule, text) == text


def test_long_sums_are_left_alone() -> None:
    long = parse(" + ".join(f"x ** {number}" for number in range(1, 60)))
    assert factoring.terms_of(long) is None
    assert factoring.terms_of(parse("x * y")) is None
