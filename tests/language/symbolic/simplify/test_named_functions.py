"""Functions that have a name: each rule on an example, and what must stay."""

from __future__ import annotations

import pytest

from gradcheck.language.expr.parser import parse
from gradcheck.language.expr.printer import to_text
from gradcheck.language.symbolic.simplify import named_functions
from gradcheck.language.symbolic.simplify.part_properties import PartProperties
from gradcheck.language.symbolic.simplify.simplifier import Rule, Simplifier
from tests.language.symbolic.simplify.examples import alone, point

EXAMPLES: list[tuple[Rule, str, str]] = [
    (named_functions.norm_by_name, "linalg.vector_norm(x, 1, dim=1)", "norm(x, 1, dim=1)"),
    (named_functions.norm_by_name, "linalg.vector_norm(x, ord=3)", "norm(x, p=3)"),
    (named_functions.kept_dim, "unsqueeze(sum(x, dim=1), dim=1)", "sum(x, dim=1, keepdim=True)"),
    (named_functions.softmax_by_name, "exp(x - logsumexp(x, dim=1, keepdim=True))", "softmax(x, dim=1)"),
    (named_functions.softmax_by_name, "exp(v - logsumexp(v, dim=0))", "softmax(v, dim=0)"),
    (named_functions.logistic, "y * exp(x) / (exp(x) + 1)", "y * sigmoid(x)"),
    (named_functions.logistic, "y / (1 + exp(-x))", "y * sigmoid(x)"),
    (named_functions.exp_times_logistic, "exp(x) * sigmoid(-x)", "sigmoid(x)"),
    (named_functions.quotient_by_name, "2 * sinh(x) / cosh(x)", "2 * tanh(x)"),
    (named_functions.quotient_by_name, "sin(x) * y / cos(x)", "tan(x) * y"),
    (named_functions.factors_out_of_a_sum, "sum(x * v, dim=0)", "sum(x, dim=0) * v"),
    (named_functions.mean_by_name, "sum(x, dim=0) / x.shape[0]", "mean(x, dim=0)"),
    (
        named_functions.factors_out_of_a_sum,
        "sum(x * unsqueeze(u, 1), dim=1, keepdim=True)",
        "sum(x, dim=1, keepdim=True) * unsqueeze(u, 1)",
    ),
    (
        named_functions.factors_out_of_a_sum,
        "sum(x / unsqueeze(u, 1), dim=1, keepdim=True)",
        "sum(x, dim=1, keepdim=True) / unsqueeze(u, 1)",
    ),
]


@pytest.mark.parametrize(("rule", "before", "after"), EXAMPLES, ids=[f"{r.__name__}: {b}" for r, b, _ in EXAMPLES])
def test_a_rule_alone(rule: Rule, before: str, after: str) -> None:
    assert alone(rule, before) == after


@pytest.mark.parametrize(
    "text",
    [
        "sum(x, dim=0) / x.shape[1]",
        "exp(x) / (exp(y) + 2)",
        "exp(x - logsumexp(y, dim=1, keepdim=True))",
        "unsqueeze(sum(x, dim=1), dim=0)",
        "sum(x * v, dim=1, keepdim=True)",
    ],
)
def test_other_functions_stay(text: str) -> None:
    for rule in (
        named_functions.mean_by_name,
        named_functions.logistic,
        named_functions.softmax_by_name,
        named_functions.kept_dim,
    ):
        assert alone(rule, text) == text


R = "rsqrt(mean(x ** 2, dim=1, keepdim=True))"
PRODUCTS: list[tuple[Rule, str, str]] = [
    (named_functions.known_product, f"y * x * {R}", "y * p"),
    (named_functions.known_product, f"2 * x * y / ({R} * norm(u))", f"2 * x * y / ({R} * norm(u))"),
    (named_functions.known_product, f"mean(y * x, dim=1, keepdim=True) * {R}", "mean(y * p, dim=1, keepdim=True)"),
    (named_functions.known_product, "x * 3 / sqrt(exp(s))", "q * 3"),
    (named_functions.known_product, "x * y / exp(s)", "y * q / sqrt(exp(s))"),
    (named_functions.dot_by_name, "(a @ u) @ u", "d"),
    (named_functions.dot_by_name, "u @ u", "u @ u"),
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


@pytest.mark.parametrize(("rule", "before", "after"), PRODUCTS, ids=[f"{r.__name__}: {b}" for r, b, _ in PRODUCTS])
def test_a_product_with_a_name(rule: Rule, before: str, after: str) -> None:
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
