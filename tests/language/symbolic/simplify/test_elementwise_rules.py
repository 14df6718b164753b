"""Rules about elementwise ops: each on an example."""

from __future__ import annotations

import pytest

from gradcheck.language.symbolic.simplify import elementwise_rules
from gradcheck.language.symbolic.simplify.simplifier import Rule
from tests.language.symbolic.simplify.examples import alone

EXAMPLES: list[tuple[Rule, str, str]] = [
    (elementwise_rules.conjugate_of_a_real, "conj(x)", "x"),
    (elementwise_rules.push_conjugate_in, "conj(conj(z) * w)", "conj(conj(z)) * conj(w)"),
    (elementwise_rules.cast_to_itself, "to(x, torch.float64)", "x"),
    (elementwise_rules.cast_of_a_half, "to(to(h, torch.float32) * to(g, torch.float32), torch.float16)", "h * g"),
    (elementwise_rules.cast_of_a_half, "to(to(h, torch.float32), torch.float16)", "h"),
    (elementwise_rules.drop_operand_expansion, "where(x > 0, expand(v, x.shape), y)", "where(x > 0, v, y)"),
    (elementwise_rules.drop_operand_expansion, "maximum(x, unsqueeze(v, 0))", "maximum(x, v)"),
    (elementwise_rules.expanded_one, "expand(2 * ones_like(s), x.shape)", "2 * ones_like(x)"),
    (elementwise_rules.sizes_as_numel, "x / (x.shape[0] * x.shape[1])", "x / x.numel()"),
    (elementwise_rules.sizes_as_numel, "x / (n * m)", "x / x.numel()"),
    (elementwise_rules.counted_ones, "s * sum(ones_like(u))", "s * x.shape[0]"),
    (elementwise_rules.counted_ones, "sum(ones_like(x)) / s", "x.numel() / s"),
    (elementwise_rules.pull_scalar_out, "a @ (s * x)", "s * (a @ x)"),
    (elementwise_rules.pull_scalar_out, "unsqueeze(v / m, dim=0)", "unsqueeze(v, dim=0) / m"),
    (elementwise_rules.drop_promoting_cast, "x - to(k, torch.float64)", "x - k"),
    (elementwise_rules.lift_expand, "2 * expand(s, x.shape)", "expand(2 * s, x.shape)"),
    (elementwise_rules.pull_number_out, "sum(-2 * x, dim=0)", "-2 * sum(x, dim=0)"),
    (elementwise_rules.pull_number_out, "a @ (0.5 * x)", "0.5 * (a @ x)"),
    (elementwise_rules.outer_product, "unsqueeze(u, -1) * v", "outer(u, v)"),
    (elementwise_rules.outer_product, "unsqueeze(u, 1) * unsqueeze(v, 0)", "outer(u, v)"),
    (elementwise_rules.normal_product, "x * 0.5 * 5 * (2 * (y + 1))", "5 * x * (y + 1)"),
    (elementwise_rules.normal_product, "expand(s, x.shape) * x", "s * x"),
    (elementwise_rules.normal_product, "x * ones_like(y)", "x"),
    (elementwise_rules.normal_product, "-(x / y) * x", "-x ** 2 / y"),
    (elementwise_rules.normal_product, "x / 3 / y", "x / (3 * y)"),
    (elementwise_rules.normal_product, "x * x * x", "x ** 3"),
    (elementwise_rules.normal_product, "x * 1", "x"),
]


@pytest.mark.parametrize(("rule", "before", "after"), EXAMPLES, ids=[f"{r.__name__}: {b}" for r, b, _ in EXAMPLES])
def test_a_rule_alone(rule: Rule, before: str, after: str) -> None:
    assert alone(rule, before) == after
