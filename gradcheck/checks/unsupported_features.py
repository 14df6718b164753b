"""Ops and abilities that engines lack, and what would let most cases run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from gradcheck.checks.result import CaseResult, Comparison, RunResult


@dataclass(frozen=True, slots=True)
class UnsupportedFeatures:
    """One engine's missing features, those that unlock most cases first."""

    engine: str
    features: tuple[str, ...]
    unsupported: int  # cases that it could not run
    cases: int  # cases in which it took part
    unlocks: Mapping[str, int]  # by feature, cases that lack nothing else


def unsupported_features(result: RunResult) -> list[UnsupportedFeatures]:
    """Return the missing features of each engine, the reference included.

    A case that fails is not among those that could not run, though an engine may lack something there too."""
    missing: dict[str, list[tuple[str, ...]]] = {}
    for case in result.cases:
        for engine, words in _lacks_by_engine(case.comparisons if case.status == "unsupported" else ()).items():
            missing.setdefault(engine, []).append(words)
    counts = _cases_by_engine(result) if missing else Counter()
    return [_features_of_engine(engine, found, counts[engine]) for engine, found in missing.items()]


def _cases_by_engine(result: RunResult) -> Counter[str]:
    counts: Counter[str] = Counter()
    for case in result.cases:
        counts.update({name for comparison in case.comparisons for name in (comparison.engine, comparison.reference)})
    return counts


def _features_of_engine(engine: str, missing: Sequence[tuple[str, ...]], counts: int) -> UnsupportedFeatures:
    needed = Counter(word for words in missing for word in words)
    alone = Counter(words[0] for words in missing if len(words) == 1)
    ordered = sorted(needed, key=lambda word: (-alone[word], -needed[word]))
    return UnsupportedFeatures(engine, tuple(ordered), len(missing), counts, {word: alone[word] for word in ordered})


def unsupported_by_engine(case: CaseResult) -> dict[str, tuple[str, ...]]:
    """Return what each engine lacks for one case, without the reference."""
    return _lacks_by_engine(comparison for comparison in case.comparisons if not comparison.reference_lacks)


def _lacks_by_engine(comparisons: Iterable[Comparison]) -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for c in comparisons:
        if c.status == "unsupported" and c.lacks:
            found.setdefault(c.reference if c.reference_lacks else c.engine, {})[c.lacks] = None
    return {engine: tuple(words) for engine, words in found.items()}
