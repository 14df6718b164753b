"""Guards against zeros: each rule on an example, and what must stay."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gradcheck.language.expr.common_subexpressions import InternPool
from gradcheck.language.expr.parser import parse
from gradcheck.language.expr.printer import to_text
from gradcheck.language.symbolic.simplify import guards
from gradcheck.language.symbolic.simplify.part_properties import PartProperties
from gradcheck.language.symbolic.simplify.simplifier import Rule, Simplifier
from tests.language.symbolic.simplify.examples import alone, know, point

SINGLE = "to(s, torch.float32)"
EXAMPLES: list[tuple[Rule, str, str]] = [
    (guards.guard_in_a_guard, "where(s == 0, 0, 2 / where(s == 0, 1, s))", "where(s == 0, 0, 2 / s)"),
    (guards.divided_in_a_guard, "where(s == 0, 0, 2 * s / s)", "where(s == 0, 0, 2 * ones_like(s))"),
    (guards.divided_in_a_guard, "where(s == 0, 0, s ** 3 * u / s)", "where(s == 0, 0, u * s ** 2)"),
    (
        guards.divided_in_a_guard,
        "where(to(s, torch.float32) == 0, 0, s * u / s)",
        "where(to(s, torch.float32) == 0, 0, u)",
    ),
    (guards.bound_in_a_guard, "where(s == 0, 0, where(s >= 0.1, u, 0) / s)", "where(s >= 0.1, u / s, 0)"),
    (guards.clamp_in_a_bound, "where(s >= 0.1, u / clamp(s, 0.1), 0)", "where(s >= 0.1, u / s, 0)"),
    (guards.guard_times_its_value, "where(s == 0, 0, s * u)", "s * u"),
    (guards.guard_of_a_factor, "u * where(norm(u) == 0, 0, s)", "u * s"),
    (guards.guard_of_a_factor, "u * where(norm(u) == 0, 0, s / norm(u))", "u * s / norm(u)"),
    (
        guards.guard_of_a_factor,
        "(v - mean(v)) * where(std(v) == 0, 0, s / std(v))",
        "(v - mean(v)) * s / std(v)",
    ),
    (guards.guard_of_a_relu, "where(x <= 0, 0, relu(x) * y)", "relu(x) * y"),
    (guards.guard_of_a_relu, "where(u >= 1, 0, relu(1 - u))", "relu(1 - u)"),
    (guards.clamp_within_bounds, "where((x >= -1) & (x <= 1), y * (x - clamp(x, -1, 1)), 0)", "zeros_like(x)"),
    (guards.negative_in_a_guard, "where(x > 0, y, y * exp(where(x < 0, x, 0)))", "where(x > 0, y, y * exp(x))"),
    (guards.product_in_a_guard, "where(x <= 0, 0, ones_like(x)) * y", "where(x <= 0, 0, y)"),
    (guards.product_in_a_guard, "where(x <= 0, 0, -2 * y)", "-2 * where(x <= 0, 0, y)"),
    (guards.compared_with_zero, "1 - x <= 0", "x >= 1"),
    (guards.compared_with_zero, "x - y > 0", "x > y"),
]


@pytest.mark.parametrize(("rule", "before", "after"), EXAMPLES, ids=[f"{r.__name__}: {b}" for r, b, _ in EXAMPLES])
def test_a_rule_alone(rule: Rule, before: str, after: str) -> None:
    assert alone(rule, before) == after


@pytest.mark.parametrize(
    "text",
    [
        "v * where(norm(u) == 0, 0, s)",  # no norm of v
        "where(s == 0, 1, 2 * s / s)",
        "where(x <= 0, 0, relu(y))",
        "where(s == 0, 0, u)",
        "where(s == 0, 0, where(s >= -0.1, u, 0) / s)",  # 0 is above the bound
        "where(s >= 0.1, u / clamp(s, 0.2), 0)",
    ],
)
def test_a_guard_that_is_needed_stays(text: str) -> None:
    for rule in (
        guards.guard_of_a_factor,
        guards.divided_in_a_guard,
        guards.guard_of_a_relu,
        guards.guard_times_its_value,
    ):
        assert alone(rule, text) == text


def test_what_must_not_be_zero_without_a_guard_is_known() -> None:
    """And where guards are to stay, it does."""
    text, facts = parse("u * where(norm(u) == 0, 0, s / norm(u))"), know()
    made = Simplifier(facts).simplify({"f": text})["f"]
    assert [to_text(part) for part in facts.assumed_divisors(made)] == ["norm(u)"]
    assert facts.assumed_divisors(parse("2 * u")) == []
    careful = know()
    careful.keeps_guards = True
    assert "where" in to_text(Simplifier(careful).simplify({"f": text})["f"])


def test_where_a_guard_stays_nothing_is_said() -> None:
    """At a point where x is 0 already, it cannot go."""
    sample = point(2, 5, 0)
    at_zero = replace(sample, names={**sample.names, "u": np.zeros(2)})
    facts = PartProperties([at_zero], InternPool())
    made = Simplifier(facts).simplify({"f": parse("u * where(norm(u) == 0, 0, s / norm(u))")})["f"]
    assert "where" in to_text(made)
    assert facts.assumed_divisors(made) == []
