"""What was made wrong, and where, word by word."""

from __future__ import annotations

import pytest

from gradcheck.facts import Fact, fact
from gradcheck.reports.phrases import say


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (fact("factor_added", factor=2.0), "a factor of 2"),
        (fact("op_swapped", old="sum", new="mean"), "a mean for a sum"),
        (fact("op_swapped", old="mean", new="sum"), "a sum for a mean"),
        (fact("op_swapped", old="sin", new="cos"), "cos for sin"),
        (fact("in_rule", op="mul", argument="other"), "the rule of mul for 'other'"),
        (fact("in_uses", op="", shape=(2, 3), count=2), "a leaf of shape [2, 3], used 2 times"),
        (fact("in_uses", op="exp", shape=(), count=3), "a result of exp of shape [], used 3 times"),
        (fact("in_formula", tensor="x", formula="2 * x"), "the formula for x: 2 * x"),
    ],
)
def test_what_and_where(found: Fact, words: str) -> None:
    assert say(found) == words
