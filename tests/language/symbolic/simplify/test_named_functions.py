"""Functions that have a name: each rule on an example, and what must stay."""

from __future__ import annotations

import pytest

from gradcheck.language.symbolic.simplify import named_functions
from gradcheck.language.symbolic.simplify.simplifier import Rule
from tests.language.symbolic.simplify.examples import alone

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
