"""Rules about elementwise ops: each on an example."""

from __future__ import annotations

import pytest

from gradcheck.language.symbolic.simplify import elementwise
from gradcheck.language.symbolic.simplify.rules import Rule
from tests.language.symbolic.simplify.examples import alone

EXAMPLES: list[tuple[Rule, str, str]] = [
    (elementwise.conjugate_of_a_real, "conj(x)", "x"),
    (elementwise.conjugate_inwards, "conj(conj(z) * w)", "conj(conj(z)) * conj(w)"),
    (elementwise.cast_to_itself, "to(x, torch.float64)", "x"),
    (elementwise.cast_of_a_half, "to(to(h, torch.float32) * to(g, torch.float32), torch.float16)", "h * g"),
    (elementwise.cast_of_a_half, "to(to(h, torch.float32), torch.float16)", "h"),
    (elementwise.operand_by_itself, "where(x > 0, expand(v, x.shape), y)", "where(x > 0, v, y)"),
    (elementwise.operand_by_itself, "maximum(x, unsqueeze(v, 0))", "maximum(x, v)"),
    (elementwise.expanded_one, "expand(2 * ones_like(s), x.shape)", "2 * ones_like(x)"),
    (elementwise.all_sizes, "x / (x.shape[0] * x.shape[1])", "x / x.numel()"),
    (elementwise.all_sizes, "x / (n * m)", "x / x.numel()"),
    (elementwise.scalar_outwards, "a @ (s * x)", "s * (a @ x)"),
    (elementwise.scalar_outwards, "unsqueeze(v / m, dim=0)", "unsqueeze(v, dim=0) / m"),
    (elementwise.promoted_by_itself, "x - to(k, torch.float64)", "x - k"),
    (elementwise.lift_expand, "2 * expand(s, x.shape)", "expand(2 * s, x.shape)"),
    (elementwise.number_outwards, "sum(-2 * x, dim=0)", "-2 * sum(x, dim=0)"),
    (elementwise.number_outwards, "a @ (0.5 * x)", "0.5 * (a @ x)"),
    (elementwise.outer_product, "unsqueeze(u, -1) * v", "outer(u, v)"),
    (elementwise.outer_product, "unsqueeze(u, 1) * unsqueeze(v, 0)", "outer(u, v)"),
    (elementwise.normal_product, "x * 0.5 * 5 * (2 * (y + 1))", "5 * x * (y + 1)"),
    (elementwise.normal_product, "expand(s, x.shape) * x", "s * x"),
    (elementwise.normal_product, "x * ones_like(y)", "x"),
    (elementwise.normal_product, "-(x / y) * x", "-x ** 2 / y"),
    (elementwise.normal_product, "x / 3 / y", "x / (3 * y)"),
    (elementwise.normal_product, "x * x * x", "x ** 3"),
    (elementwise.normal_product, "x * 1", "x"),
]


@pytest.mark.parametrize(("rule", "before", "after"), EXAMPLES, ids=[f"{r.__name__}: {b}" for r, b, _ in EXAMPLES])
def test_a_rule_alone(rule: Rule, before: str, after: str) -> None:
    assert alone(rule, before) == after
