"""What engines could not express in a run, and what would let most cases run first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gradcheck.checks.result import CaseResult, RunResult


@dataclass(frozen=True, slots=True)
class Lacking:
    """One engine's missing ops and abilities, those first that stand alone in the way of most cases; `unlocks` says of
    how many, by the word."""

    engine: str
    words: tuple[str, ...]
    unsupported: int  # cases that it could not run
    cases: int  # cases that it was asked to run
    unlocks: Mapping[str, int]


def lacking(result: RunResult) -> list[Lacking]:
    """Every engine that could not express something, in the order in which they come up."""
    missing: dict[str, list[tuple[str, ...]]] = {}
    for case in result.cases:
        for engine, words in lacks_of(case).items():
            missing.setdefault(engine, []).append(words)
    asked = _asked(result) if missing else Counter()
    return [_lacking(engine, found, asked[engine]) for engine, found in missing.items()]


def _asked(result: RunResult) -> Counter[str]:
    """How many cases each engine was asked to run."""
    asked: Counter[str] = Counter()
    for case in result.cases:
        asked.update({comparison.engine for comparison in case.comparisons})
    return asked


def _lacking(engine: str, missing: Sequence[tuple[str, ...]], asked: int) -> Lacking:
    needed = Counter(word for words in missing for word in words)
    alone = Counter(words[0] for words in missing if len(words) == 1)
    ordered = sorted(needed, key=lambda word: (-alone[word], -needed[word]))
    return Lacking(engine, tuple(ordered), len(missing), asked, {word: alone[word] for word in ordered})


def lacks_of(case: CaseResult) -> dict[str, tuple[str, ...]]:
    """What each engine lacks for one case."""
    found: dict[str, dict[str, None]] = {}
    for comparison in case.noteworthy:
        if comparison.status == "unsupported" and comparison.lacks:
            found.setdefault(comparison.engine, {})[comparison.lacks] = None
    return {engine: tuple(words) for engine, words in found.items()}
