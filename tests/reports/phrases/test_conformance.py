"""Why a property does not hold of an engine, word by word."""

from __future__ import annotations

import pytest

from gradcheck.facts import Fact, fact
from gradcheck.reports.phrases import say

DEEP = fact("wrong_through_nodes", nodes=100_000)


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (DEEP, "the gradient through 100,000 nodes is wrong"),
        (fact("wrong_after_uses", uses=1000), "the gradient of a tensor used 1,000 times is wrong"),
        (fact("values_changed", tensor="x"), "the values of x are no longer what they were"),
        (
            fact("property_shapes_differ", what=DEEP, got=(2,), want=()),
            "the gradient through 100,000 nodes is wrong: its shape is [2], expected []",
        ),
        (
            fact("property_numbers_differ", what=DEEP, got=1.5, want=2.0),
            "the gradient through 100,000 nodes is wrong: 1.5, expected 2",
        ),
    ],
)
def test_sentences(found: Fact, sentence: str) -> None:
    assert say(found) == sentence
