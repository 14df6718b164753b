"""Derivations of papers with one mistake each: is it found, is it named, and is it corrected?"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.timing import Row
from gradcheck import run
from gradcheck.checks.failures.mistakes import MEANINGS
from gradcheck.checks.result import CaseResult

MISTAKEN = Path(__file__).with_name("derivations.yaml")


def rows() -> Iterator[Row]:
    cases = run(MISTAKEN).cases
    missed = [case.name for case in cases if case.status != "failed"]
    kinds = [_kinds(case) for case in cases]
    unnamed = [case.name for case, found in zip(cases, kinds, strict=True) if MEANINGS.keys().isdisjoint(found)]
    corrected = sum("did_you_mean" in found for found in kinds)
    yield Row("derivations: mistakes missed", f"{len(missed)} of {len(cases)}", "0", not missed, "; ".join(missed))
    is_kept = len(unnamed) <= 0.15 * len(cases)
    named = f"{len(cases) - len(unnamed)} of {len(cases)}"
    yield Row("derivations: mistakes named", named, ">= 85%", is_kept, f"not: {'; '.join(unnamed)}")
    yield Row("derivations: corrected", f"{corrected} of {len(cases)}", "", True, "")


def _kinds(case: CaseResult) -> set[str]:
    return {one.kind for c in case.comparisons for one in c.diagnoses}
