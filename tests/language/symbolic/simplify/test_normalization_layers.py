"""What is centred and divided by its deviation: each rule on an example, and what must stay."""

from __future__ import annotations

import pytest

from gradcheck.language.symbolic.simplify import normalization_layers
from gradcheck.language.symbolic.simplify.simplifier import Rule
from tests.language.symbolic.simplify.examples import alone

C = "(x - mean(x, dim=1, keepdim=True))"
V = "var(x, dim=1, correction=0, keepdim=True)"
EXAMPLES: list[tuple[Rule, str, str]] = [
    (normalization_layers.dim_from_the_front, "sum(x, dim=-1)", "sum(x, dim=1)"),
    (
        normalization_layers.variance,
        f"mean({C} ** 2, dim=1, keepdim=True)",
        f"{V}",
    ),
    (normalization_layers.variance, "mean(square(x - mean(x, dim=0)), dim=0)", "var(x, dim=0, correction=0)"),
    (
        normalization_layers.normalization_by_name,
        f"y * {C} * rsqrt({V} + 1e-05)",
        "y * layer_norm(x, [x.shape[1]])",
    ),
    (
        normalization_layers.normalization_by_name,
        f"{C} / sqrt({V} + 0.1)",
        "layer_norm(x, [x.shape[1]], eps=0.1)",
    ),
    (
        normalization_layers.normalization_by_name,
        "(x - mean(x, dim=0)) * rsqrt(var(x, dim=0, correction=0, keepdim=True) + 1e-05)",
        "batch_norm(x, None, None, training=True)",
    ),
    (
        normalization_layers.normalization_by_name,
        f"mean(y * {C}, dim=1, keepdim=True) * rsqrt({V} + 1e-05)",
        "mean(y * layer_norm(x, [x.shape[1]]), dim=1, keepdim=True)",
    ),
    (
        normalization_layers.drop_centred_terms,
        f"mean(y - unsqueeze(u, 1) * {C}, dim=1, keepdim=True)",
        "mean(y, dim=1, keepdim=True)",
    ),
    (normalization_layers.power_of_a_root, "rsqrt(x ** 2) ** 3 * y", "(x ** 2) ** -1.5 * y"),
]


@pytest.mark.parametrize(("rule", "before", "after"), EXAMPLES, ids=[f"{r.__name__}: {b}" for r, b, _ in EXAMPLES])
def test_a_rule_alone(rule: Rule, before: str, after: str) -> None:
    assert alone(rule, before) == after


@pytest.mark.parametrize(
    "text",
    [
        "mean((x - mean(x, dim=0)) ** 2, dim=1)",
        "(x - mean(x, dim=0)) * rsqrt(var(x, dim=1, correction=0, keepdim=True) + 1e-05)",
        "(x - mean(x, dim=1, keepdim=True)) * rsqrt(var(x, dim=1, correction=1, keepdim=True) + 1e-05)",
        "mean(y - v * (x - mean(x, dim=1, keepdim=True)), dim=1, keepdim=True)",
        "rsqrt(x ** 2) ** 2 * y",
    ],
)
def test_what_is_not_normalized_stays(text: str) -> None:
    for rule, _, _ in EXAMPLES:
        assert alone(rule, text) == text
