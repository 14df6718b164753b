"""Who is wrong, word by word."""

from __future__ import annotations

import pytest

from gradcheck.facts import Fact, fact
from gradcheck.reports.phrases import say

FORMULA, FILE = fact("the_formula"), fact("the_file")
KINK = {"low": -1.0, "high": 1.0, "got": "core", "got_value": 0.0, "want": "torch", "want_value": 1.0}


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (
            fact("stands_alone", wrong="core", agree=("torch", "complex step"), closeness=2.2e-16),
            "core is wrong: torch and complex step agree to 2e-16",
        ),
        (
            fact("stands_alone", wrong=FORMULA, agree=("torch", FILE), closeness=0.0),
            "the formula is wrong: torch and the file agree exactly",
        ),
        (
            fact("oracle_sides_with", got="core", want="torch", oracle="complex step", closeness=1e-15),
            "torch and core differ, complex step sides with core to 1e-15",
        ),
        (
            fact("oracle_sides_with", got="core", want="torch", oracle=fact("proved", what=FORMULA), closeness=0.0),
            "torch and core differ, the formula (proved) sides with core exactly",
        ),
        (
            fact("oracle_cannot_tell", got="core", want="torch", oracle="differences", error=0.031),
            "core and torch differ, and differences cannot tell: its error bar is 0.03",
        ),
        (
            fact("oracle_cannot_tell", got="core", want="torch", oracle="differences", error=float("inf")),
            "core and torch differ, and differences cannot tell: it does not converge there",
        ),
        (fact("all_differ", names=("core", "torch", "jax")), "core, torch and jax all differ"),
        (
            fact("wrong_together", wrong=("core", "jax"), agree=("torch", "complex step"), closeness=0.0),
            "core and jax are wrong together: torch and complex step agree exactly",
        ),
        (
            fact("wrong_together", wrong=("core",), agree=("torch", "jax"), closeness=0.0),
            "core is wrong together: torch and jax agree exactly",
        ),
        (fact("parted", some=("core", "jax"), others=("torch", FILE)), "core and jax stand against torch and the file"),
    ],
)
def test_who_stands_alone(found: Fact, sentence: str) -> None:
    assert say(found) == sentence


def test_conventions_at_a_kink() -> None:
    kink, jump = fact("kink", jumps=False, **KINK), fact("kink", jumps=True, **KINK)
    assert say(fact("convention", kink=kink)) == (
        "a difference of convention, not a failure: no derivative there, and any of [-1, 1] is a subgradient: core "
        "takes 0, torch 1"
    )
    assert say(fact("another_convention", kink=jump)) == (
        "another convention at a kink: no derivative there, for the function jumps: core takes 0, torch 1"
    )


def test_what_is_outside_of_the_subgradients() -> None:
    found = fact("outside_subgradients", name=FORMULA, value=2 + 1j, low=-1.0, high=1.0)
    assert say(found) == (
        "the formula is wrong: no derivative there, and the formula (2+1j) is outside of the subgradients, [-1, 1]"
    )
