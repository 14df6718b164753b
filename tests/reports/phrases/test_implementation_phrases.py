"""What is said of somebody's own code."""

from __future__ import annotations

import pytest

from gradcheck.facts import fact
from gradcheck.reports.phrases import say
from gradcheck.reports.phrases.implementation_phrases import MANNERS


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
