"""Products multiplied out, where a divisor cancels that the graph asks not to be 0."""

from __future__ import annotations

import pytest

from gradcheck.language.expr.parser import parse
from gradcheck.language.expr.printer import to_text
from gradcheck.language.symbolic.simplify import multiply_out
from gradcheck.language.symbolic.simplify.simplifier import Rule, Simplifier
from tests.language.symbolic.simplify.examples import know

EXAMPLES: list[tuple[Rule, str, str]] = [
    (multiply_out.multiplied_out, "((1 - y) / (1 - x) - y / x) * x * (1 - x)", "x - y"),
    (multiply_out.multiplied_out, "x * (y / x + 1)", "x + y"),
    (multiply_out.multiplied_out, "(1 - y) * x - y * (1 - x)", "x - y"),
]


def expanded(text: str, *asked: str) -> str:
    facts = know()
    for part in asked:
        node = facts.pool.intern(parse(part))
        facts.nonzero_in_graph[id(node)] = node
    return to_text(Simplifier(facts, (multiply_out.multiplied_out,)).simplify({"f": parse(text)})["f"])


@pytest.mark.parametrize(("rule", "before", "after"), EXAMPLES, ids=[b for _, b, _ in EXAMPLES])
def test_what_cancels(rule: Rule, before: str, after: str) -> None:
    assert expanded(before, "x", "1 - x") == after


def test_what_may_be_zero_does_not_cancel() -> None:
    assert expanded("x * (y / x + 1)") == "x * (y / x + 1)"


def test_what_would_vanish_without_a_trace_stays() -> None:
    """`y - y` is not 0 where y is infinite."""
    assert expanded("x * (y / x + v / x - y / x)", "x") != "v"
