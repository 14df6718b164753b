"""What terms have in common: each rule on an example, and what must stay."""

from __future__ import annotations

import pytest

from gradcheck.language.expr.parser import parse
from gradcheck.language.expr.printer import to_text
from gradcheck.language.symbolic.simplify import factoring
from gradcheck.language.symbolic.simplify.simplifier import Rule, Simplifier
from tests.language.symbolic.simplify.examples import alone, know

FACTORED: list[tuple[Rule, str, str]] = [
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
MULTIPLIED_OUT: list[tuple[Rule, str, str]] = [
    (factoring.multiplied_out, "((1 - y) / (1 - x) - y / x) * x * (1 - x)", "x - y"),
    (factoring.multiplied_out, "x * (y / x + 1)", "x + y"),
    (factoring.multiplied_out, "(1 - y) * x - y * (1 - x)", "x - y"),
]
EXAMPLES = [*FACTORED, *MULTIPLIED_OUT]


@pytest.mark.parametrize(("rule", "before", "after"), FACTORED, ids=[f"{r.__name__}: {b}" for r, b, _ in FACTORED])
def test_a_rule_alone(rule: Rule, before: str, after: str) -> None:
    assert alone(rule, before) == after


@pytest.mark.parametrize(
    "text", ["0 * x - 0 * y", "a @ x + x", "x * y + x", "2 * x + 4 * y", "1 - x - sigmoid(y)", "x.T + a @ x.T"]
)
def test_what_has_nothing_in_common_stays(text: str) -> None:
    for rule, _, _ in FACTORED:
        if text != "x.T + a @ x.T":
            assert alone(rule, text) == text


def test_long_sums_are_left_alone() -> None:
    long = parse(" + ".join(f"x ** {number}" for number in range(1, 60)))
    assert factoring.terms_of(long) is None
    assert factoring.terms_of(parse("x * y")) is None


def expanded(text: str, *asked: str) -> str:
    facts = know()
    for part in asked:
        node = facts.pool.intern(parse(part))
        facts.nonzero_in_graph[id(node)] = node
    return to_text(Simplifier(facts, (factoring.multiplied_out,)).simplify({"f": parse(text)})["f"])


@pytest.mark.parametrize(("rule", "before", "after"), MULTIPLIED_OUT, ids=[b for _, b, _ in MULTIPLIED_OUT])
def test_what_cancels(rule: Rule, before: str, after: str) -> None:
    assert expanded(before, "x", "1 - x") == after


def test_what_may_be_zero_does_not_cancel() -> None:
    assert expanded("x * (y / x + 1)") == "x * (y / x + 1)"


def test_what_would_vanish_without_a_trace_stays() -> None:
    """`y - y` is not 0 where y is infinite."""
    assert expanded("x * (y / x + v / x - y / x)", "x") != "v"
