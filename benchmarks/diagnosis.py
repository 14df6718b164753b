"""Diagnoses against planted mistakes: how many name the mistake, and how many name another with confidence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmarks.timing import Row
from tests.checks.mutants import Outcome, outcomes

#: The part of the diagnoses that must name the planted fault.
PROMISED = 0.95


def rows() -> Iterator[Row]:
    """A row for each kind of mistake, and the whole, to which the promise applies."""
    found = list(outcomes())
    by_fault: dict[str, list[Outcome]] = {}
    for outcome in found:
        by_fault.setdefault(outcome.fault, []).append(outcome)
    for fault, some in by_fault.items():
        yield Row(f"diagnosis: {fault}", _named(some), "", True, _details(some))
    kept = sum(o.named for o in found) >= PROMISED * len(found) and not any(o.misled for o in found)
    yield Row("diagnosis: all", _named(found), f"≥ {PROMISED:.0%}, none wrong", kept, _details(found))


def _named(some: Sequence[Outcome]) -> str:
    return f"{sum(o.named for o in some)} of {len(some)} named"


def _details(some: Sequence[Outcome]) -> str:
    return f"named first {sum(o.first for o in some)}, another with confidence {sum(o.misled for o in some)}"
