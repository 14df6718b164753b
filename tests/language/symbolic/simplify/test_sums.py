"""Sums in one form."""

from __future__ import annotations

import pytest

from gradcheck.language.expr.common_subexpressions import InternPool
from gradcheck.language.expr.parser import parse
from gradcheck.language.expr.printer import to_text
from gradcheck.language.symbolic.simplify.sums import is_sum, normal_sum, signed_terms
from tests.language.symbolic.simplify.examples import know, simplified


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x + y - 0", "x + y"),
        ("zeros_like(x) + y", "y"),
        ("x + x", "2 * x"),
        ("x * 3 - y - x", "2 * x - y"),
        ("-x + y", "y - x"),
        ("x - (y - x)", "2 * x - y"),
        ("y + expand(s, x.shape)", "y + s"),
        ("x + ones_like(x)", "x + 1"),
        ("x[0] + b[0, 0] + x[1]", "x[0] + b[0, 0] + x[1]"),  # of three rows at one point, two are not all
        ("b[:, 0] + x + b[:, 1]", "b[:, 0] + x + b[:, 1]"),
        ("2 * stack([v, v])[1] + v + 2 * stack([v, v])[0]", "2 * sum(stack([v, v]), dim=0) + v"),
        ("x[0:0 + x.shape[0]]", "x"),
        ("x[1:1 + (x.shape[0] - 1)]", "x[1:]"),
    ],
)
def test_sums(before: str, after: str) -> None:
    assert simplified(before) == after


def test_the_spine_has_signs_and_stops_where_parts_are_shared() -> None:
    root = InternPool().intern(parse("a - (b - c) + d"))
    assert [(to_text(part), sign) for part, sign in signed_terms(root, lambda node: False)] == [
        ("a", 1), ("b", -1), ("c", 1), ("d", 1),
    ]  # fmt: skip
    shared = signed_terms(root, lambda node: node == parse("b - c"))
    assert [(to_text(part), sign) for part, sign in shared] == [("a", 1), ("b - c", -1), ("d", 1)]
    assert [is_sum(parse(text)) for text in ("a + b", "a - b", "-a", "add(a, b, alpha=2)")] == [
        True,
        True,
        False,
        False,
    ]


def test_plain_numbers_cancel_and_tensors_do_not() -> None:
    facts = know()
    n, x = (facts.pool.intern(parse(text)) for text in ("n", "x"))
    assert normal_sum([(n, 1), (n, -1)], None, facts) == parse("0")
    assert normal_sum([(x, 1), (x, -1)], facts.shapes(x), facts) == parse("x - x")
