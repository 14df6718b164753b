"""Sums in one form."""

from __future__ import annotations

import pytest

from gradcheck.language.expr.parser import parse
from gradcheck.language.symbolic.simplify.sums import normal_sum
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


def test_plain_numbers_cancel_and_tensors_do_not() -> None:
    facts = know()
    n, x = (facts.pool.intern(parse(text)) for text in ("n", "x"))
    assert normal_sum([(n, 1), (n, -1)], None, facts) == parse("0")
    assert normal_sum([(x, 1), (x, -1)], facts.shapes(x), facts) == parse("x - x")
