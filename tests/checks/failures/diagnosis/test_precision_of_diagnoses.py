"""Diagnoses on mistakes that were planted: nearly all are named, and none is mistaken for another with confidence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest

from tests.checks.mutants import OPS, Outcome, rule_outcomes, sweep_outcomes
from tests.sampling import EVERYTHING

#: The part of the diagnoses that must name the planted fault, and of those that must name it first.
NAMED, FIRST = 0.95, 0.95
#: One op in so many is tried here; `python -m benchmarks diagnosis` tries all.
EVERY = 1 if EVERYTHING else 5


@pytest.fixture(scope="module")
def outcomes() -> list[Outcome]:
    return [*rule_outcomes(every=EVERY), *sweep_outcomes()]


def told(some: Sequence[Outcome]) -> str:
    return "\n".join(f"{o.subject}: {o.fault}: {[kind for kind, *_ in o.told]}" for o in some)


def test_planted_mistakes_are_named(outcomes: list[Outcome]) -> None:
    missed = [o for o in outcomes if not o.named]
    assert len(missed) <= (1 - NAMED) * len(outcomes), told(missed)
    assert sum(o.first for o in outcomes) >= FIRST * len(outcomes)


def test_no_other_mistake_is_named_with_confidence(outcomes: list[Outcome]) -> None:
    misled = [o for o in outcomes if o.misled]
    assert not misled, told(misled)


def test_the_suite_is_broad(outcomes: list[Outcome]) -> None:
    faults = Counter(o.fault for o in outcomes)
    assert len(outcomes) > 1000 / EVERY
    assert len(faults) == 26
    assert all(count >= 3 / EVERY for count in faults.values()), faults
    assert len(OPS) > 60


def test_what_is_no_known_mistake_is_called_unknown(outcomes: list[Outcome]) -> None:
    nonsense = [o for o in outcomes if o.fault == "nonsense"]
    assert len(nonsense) > 50 / EVERY
    assert all(o.told[0][0] == "unknown" and "tried: " in o.told[0][2] for o in nonsense)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_lower_precisions_are_diagnosed_too(dtype: str) -> None:
    some = list(rule_outcomes(dtype, every=5 * EVERY))
    assert len(some) > 150 / EVERY
    assert sum(o.named for o in some) >= NAMED * len(some), told([o for o in some if not o.named])
    assert not any(o.misled for o in some)
