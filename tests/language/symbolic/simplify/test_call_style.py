"""Rules about how calls are written: each on an example."""

from __future__ import annotations

import pytest

from gradcheck.language.symbolic.simplify import call_style
from gradcheck.language.symbolic.simplify.rules import Rule
from tests.language.symbolic.simplify.examples import alone

EXAMPLES: list[tuple[Rule, str, str]] = [
    (call_style.dims_by_keyword, "sum(x, -1, True)", "sum(x, dim=-1, keepdim=True)"),
    (call_style.lone_dim, "mean(x, dim=(-1,))", "mean(x, dim=-1)"),
    (call_style.tensors_one_by_one, "einsum('ij,j->i', (x, v))", "einsum('ij,j->i', x, v)"),
]


@pytest.mark.parametrize(("rule", "before", "after"), EXAMPLES, ids=[f"{r.__name__}: {b}" for r, b, _ in EXAMPLES])
def test_a_rule_alone(rule: Rule, before: str, after: str) -> None:
    assert alone(rule, before) == after
