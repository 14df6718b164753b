"""Verify the corrections a run proposes before they are written to files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from gradcheck.checks.result import CaseResult, RunResult
from gradcheck.errors import Hint
from gradcheck.language.case import Loaded
from gradcheck.language.loader.case_files import load_text
from gradcheck.language.loader.hint_corrections import (
    Correction,
    apply_corrections,
    apply_verified_corrections,
    correction_from_hint,
)
from gradcheck.language.loader.yaml_text import documents

#: The keys that every case has; the rest of a document may be no YAML yet.
_BEGINS = r"""(?:^|\A(?:\s*#[^\n]*\n)*\s*\{(?:(?s:.*)[{,])?\s*)["']?"""
_KEYS = [re.compile(rf"""{_BEGINS}{key}["']?\s*[:=]""", re.MULTILINE) for key in ("inputs", "graph")]
#: Runs the given cases.
Run = Callable[[Loaded], RunResult]
#: Returns a correction that is wanted, perhaps edited, or None; it may ask whether another one holds.
Choose = Callable[[Correction, Callable[[Correction], bool]], Correction | None]


@dataclass(frozen=True, slots=True)
class CorrectedFile:
    """A file's text before and after, and its corrections."""

    file: str
    before: str
    after: str
    corrections: tuple[Correction, ...]


def proposed_corrections(case: CaseResult) -> Iterator[Correction]:
    """Yield the corrections in a case's errors and diagnoses."""
    for error in case.errors:
        text = str(dict(error.message.data).get("text", "")) if error.message.kind == "said" else ""
        found = correction_from_hint(error.hint, error.place, text)
        if found is not None:
            yield found
    for c in case.comparisons:
        for diagnosis in c.diagnoses:
            found = correction_from_hint(Hint("", c.formula, diagnosis.formula, c.place), c.place)
            if found is not None and diagnosis.edit is not None:
                yield found


def correct_file(
    file: str, text: str, cases: list[CaseResult], run: Run, choose: Choose | None = None
) -> CorrectedFile | None:
    """Return a file with its verified corrections; None if there are none.

    A correction of a load error is verified by loading the file again, any other by running its cases again. Cases
    that are expected to fail are left alone. So is a file that has no `inputs` and `graph`, and is invalid even then:
    it is another tool's, whose keys only look like misspelt ones."""
    open_cases = [case for case in cases if case.status != "xfailed"]

    def holds(one: Correction) -> bool:
        after, taken = apply_corrections(text, [one])
        return bool(taken) and _is_better(file, text, after, cases, run)

    found = [one for case in open_cases for one in proposed_corrections(case) if one.place.file == file]
    if choose is not None:
        found = [chosen for one in dict.fromkeys(found) if (chosen := choose(one, holds)) is not None]
    after, taken = apply_verified_corrections(text, file, [one for one in found if one.error])
    others = [one for one in found if not one.error]
    if others and not taken:
        after, taken = apply_corrections(text, others)
        if taken and not _is_better(file, text, after, cases, run):
            return None
    is_case_file = any(all(key.search(piece) for key in _KEYS) for piece, _ in documents(text))
    is_case_file = is_case_file or not load_text(after, file)[1]
    return CorrectedFile(file, text, after, tuple(taken)) if taken and is_case_file else None


def _is_better(file: str, before: str, after: str, cases: list[CaseResult], run: Run) -> bool:
    """Return whether fewer claims fail now, and in no case more."""
    known = {case.id: case for case in cases if case.name}
    loaded, errors = load_text(after, file)
    now = {case.id: case for case in run(Loaded(tuple(c for c in loaded if c.id in known), ())).cases}
    if len(errors) > len(load_text(before, file)[1]) or now.keys() != known.keys():
        return False
    gained = [_faults(known[id]) - _faults(now[id]) for id in now]
    return min(gained) >= 0 and (sum(gained) > 0 or any(_fails_further_down(known[id], now[id]) for id in now))


def _faults(case: CaseResult) -> int:
    """Return how many claims fail; an error hides claims, and counts for many."""
    if not case.is_failing:
        return 0
    failed = {(c.what, c.tensor, c.formula, c.step) for c in case.comparisons if c.status == "failed"}
    return 1 + (1_000 * len(case.errors) or len(failed))


def _fails_further_down(before: CaseResult, after: CaseResult) -> bool:
    """Return whether an error made way for a later one in the file."""
    if not before.errors or not after.errors:
        return False
    return min(error.place for error in after.errors) > min(error.place for error in before.errors)
