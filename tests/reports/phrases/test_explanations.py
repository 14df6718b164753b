"""Why there is no derived formula, word by word."""

from __future__ import annotations

import pytest

from gradcheck.facts import Fact, fact
from gradcheck.reports.phrases import say


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (fact("forward_raises", error="2 and 3"), "the forward pass raises: 2 and 3"),
        (fact("no_pass_completed"), "no backward pass is completed"),
        (fact("pass_not_run"), "the backward pass alone cannot be run"),
        (
            fact("formula_too_long", parts=20001),
            "a formula has 20,001 parts; give parts of the graph names of their own",
        ),
        (
            fact("derived_does_not_hold", tensor="x"),
            "the derived gradient of x does not hold when it is read back",
        ),
        (fact("derived_is_refuted", tensor="x"), "the exact oracle refutes the derived gradient of x"),
        (fact("equals_derived"), "equals the derived formula; not independent evidence"),
    ],
)
def test_sentences(found: Fact, sentence: str) -> None:
    assert say(found) == sentence
