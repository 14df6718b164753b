"""Rules about products: each on an example."""

from __future__ import annotations

import pytest

from gradcheck.language.symbolic.simplify import products
from gradcheck.language.symbolic.simplify.rules import Rule
from tests.language.symbolic.simplify.examples import alone

EXAMPLES: list[tuple[Rule, str, str]] = [
    (products.expanded_one, "expand(2 * ones_like(s), x.shape)", "2 * ones_like(x)"),
    (products.all_sizes, "x / (x.shape[0] * x.shape[1])", "x / x.numel()"),
    (products.lift_expand, "2 * expand(s, x.shape)", "expand(2 * s, x.shape)"),
    (products.number_outwards, "sum(-2 * x, dim=0)", "-2 * sum(x, dim=0)"),
    (products.number_outwards, "a @ (0.5 * x)", "0.5 * (a @ x)"),
    (products.outer_product, "unsqueeze(u, -1) * v", "outer(u, v)"),
    (products.outer_product, "unsqueeze(u, 1) * unsqueeze(v, 0)", "outer(u, v)"),
    (products.normal_product, "x * 0.5 * 5 * (2 * (y + 1))", "5 * x * (y + 1)"),
    (products.normal_product, "expand(s, x.shape) * x", "s * x"),
    (products.normal_product, "x * ones_like(y)", "x"),
    (products.normal_product, "-(x / y) * x", "-x ** 2 / y"),
    (products.normal_product, "x / 3 / y", "x / (3 * y)"),
    (products.normal_product, "x * x * x", "x ** 3"),
    (products.normal_product, "x * 1", "x"),
]


@pytest.mark.parametrize(("rule", "before", "after"), EXAMPLES, ids=[f"{r.__name__}: {b}" for r, b, _ in EXAMPLES])
def test_a_rule_alone(rule: Rule, before: str, after: str) -> None:
    assert alone(rule, before) == after
