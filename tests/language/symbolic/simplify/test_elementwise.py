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
]


@pytest.mark.parametrize(("rule", "before", "after"), EXAMPLES, ids=[f"{r.__name__}: {b}" for r, b, _ in EXAMPLES])
def test_a_rule_alone(rule: Rule, before: str, after: str) -> None:
    assert alone(rule, before) == after
