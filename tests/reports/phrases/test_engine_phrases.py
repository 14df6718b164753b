"""Why a property does not hold of an engine, what was made wrong and where, word by word."""

from __future__ import annotations

import pytest

from gradcheck.facts import Fact, fact
from gradcheck.reports.phrases import say
from gradcheck.reports.phrases.engine_phrases import MANNERS

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
def test_why_a_property_does_not_hold(found: Fact, sentence: str) -> None:
    assert say(found) == sentence


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
def test_what_was_made_wrong_and_where(found: Fact, words: str) -> None:
    assert say(found) == words


@pytest.mark.parametrize("manner", MANNERS)
def test_every_manner_of_asking_has_words(manner: str) -> None:
    told = fact("otherwise", engine="mine", manner=manner, detail="x", what="gradient", tensor="w")
    assert say(told).startswith("the gradient of w is wrong ")
    assert say(fact("refuses", engine="mine", manner=manner, detail="x", text="it raised")).endswith("it raised")


def test_how_arguments_were_bound() -> None:
    assert say(fact("arguments_bound", arguments=("x", "w"), how="by name")) == "called with (x, w), by name"


def test_parameters_that_are_nobodys() -> None:
    one = say(fact("parameters_unchecked", names=("scale",)))
    assert one == "its own scale stands for nothing in the case, and the gradient there is unchecked"
    assert "a, b stand for nothing" in say(fact("parameters_unchecked", names=("a", "b")))
