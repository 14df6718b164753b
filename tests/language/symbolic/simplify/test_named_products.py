"""What the case has a name for: products, and dots of vectors in another order."""

from __future__ import annotations

import pytest

from gradcheck.language.expr.parser import parse
from gradcheck.language.expr.printer import to_text
from gradcheck.language.symbolic.simplify import named_products
from gradcheck.language.symbolic.simplify.part_properties import PartProperties
from gradcheck.language.symbolic.simplify.simplifier import Rule, Simplifier
from tests.language.symbolic.simplify.examples import point

R = "rsqrt(mean(x ** 2, dim=1, keepdim=True))"
EXAMPLES: list[tuple[Rule, str, str]] = [
    (named_products.known_product, f"y * x * {R}", "y * p"),
    (named_products.known_product, f"2 * x * y / ({R} * norm(u))", f"2 * x * y / ({R} * norm(u))"),
    (named_products.known_product, f"mean(y * x, dim=1, keepdim=True) * {R}", "mean(y * p, dim=1, keepdim=True)"),
    (named_products.known_product, "x * 3 / sqrt(exp(s))", "q * 3"),
    (named_products.known_product, "x * y / exp(s)", "y * q / sqrt(exp(s))"),
    (named_products.dot_by_name, "(a @ u) @ u", "d"),
    (named_products.dot_by_name, "u @ u", "u @ u"),
]
NAMED = {"p": f"x * {R}", "q": "x / sqrt(exp(s))", "d": "u @ (a @ u)"}


def with_names() -> PartProperties:
    """p, q and d are what `NAMED` says, at every point."""
    from dataclasses import replace

    from gradcheck.language.evaluation.evaluate import evaluate
    from gradcheck.language.expr.common_subexpressions import InternPool

    points = [point(2, 5, 0), point(3, 4, 1)]
    given = [{name: evaluate(parse(text), p.names) for name, text in NAMED.items()} for p in points]
    points = [replace(p, names={**p.names, **more}) for p, more in zip(points, given, strict=True)]
    return PartProperties(points, InternPool(), ("s",))


@pytest.mark.parametrize(("rule", "before", "after"), EXAMPLES, ids=[f"{r.__name__}: {b}" for r, b, _ in EXAMPLES])
def test_a_rule_alone(rule: Rule, before: str, after: str) -> None:
    simplifier = Simplifier(with_names(), (rule,))
    simplifier.define({name: parse(text) for name, text in NAMED.items()})
    found = to_text(simplifier.simplify({"f": parse(before)})["f"])
    assert found.replace("3 * q", "q * 3") == after


def test_what_is_written_as_a_name_stands_for_is_called_so() -> None:
    simplifier = Simplifier(with_names())
    simplifier.define({name: parse(text) for name, text in NAMED.items()})
    found = simplifier.simplify({"f": parse("tanh(u @ (a @ u))"), "g": parse("exp(x / sqrt(exp(s)))")})
    assert {name: to_text(expr) for name, expr in found.items()} == {"f": "tanh(d)", "g": "exp(q)"}


def test_a_name_that_stands_for_something_else_is_not_used() -> None:
    simplifier = Simplifier(with_names())
    simplifier.define({"p": parse("x * 2")})
    assert to_text(simplifier.simplify({"f": parse("2 * x")})["f"]) == "2 * x"
