"""What engines could not express: each once for all of a run, not once a case."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from gradcheck.checks.result import CaseResult, RunResult


@dataclass(frozen=True, slots=True)
class Lacking:
    """One engine's missing ops and abilities, those first that stand in the way of most cases."""

    engine: str
    words: tuple[str, ...]
    unsupported: int  # cases that it could not run
    cases: int  # cases that it was asked to run


def lacking(result: RunResult) -> list[Lacking]:
    """Every engine that could not express something, in the order in which they come up."""
    words: dict[str, Counter[str]] = {}
    affected: Counter[str] = Counter()
    asked: Counter[str] = Counter()
    for case in result.cases:
        asked.update({comparison.engine for comparison in case.comparisons})
        for engine, found in lacks_of(case).items():
            words.setdefault(engine, Counter()).update(found)
            affected[engine] += 1
    return [
        Lacking(engine, tuple(word for word, _ in found.most_common()), affected[engine], asked[engine])
        for engine, found in words.items()
    ]


def lacks_of(case: CaseResult) -> dict[str, tuple[str, ...]]:
    """What each engine lacks for one case."""
    found: dict[str, dict[str, None]] = {}
    for comparison in case.comparisons:
        if comparison.status == "unsupported" and comparison.lacks:
            found.setdefault(comparison.engine, {})[comparison.lacks] = None
    return {engine: tuple(words) for engine, words in found.items()}
