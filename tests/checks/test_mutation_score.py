"""Caught and survived add up."""

from __future__ import annotations

from gradcheck.checks.mutation_score import Mutant, MutationScore
from gradcheck.facts import fact


def mutant(caught_by: str) -> Mutant:
    return Mutant(fact("rule_negated"), fact("in_rule", op="mul", argument="input"), caught_by)


def test_what_nothing_shows_survives() -> None:
    power = MutationScore((mutant("gradient"), mutant(""), mutant("node")))
    assert (power.caught, power.survivors, power.is_vacuous) == (2, (mutant(""),), False)


def test_where_nothing_is_caught_it_is_vacuous() -> None:
    assert MutationScore((mutant(""),)).is_vacuous
    assert MutationScore(()).is_vacuous
