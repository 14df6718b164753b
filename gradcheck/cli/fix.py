"""`run --fix`: write verified corrections into case files, and show diffs."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from gradcheck.cli.output import write_diff, write_stderr
from gradcheck.cli.write_files import CaseFileText
from gradcheck.errors import InvalidCase, UsageError
from gradcheck.reports.safe_text import count

if TYPE_CHECKING:
    from gradcheck.checks.result import CaseResult, RunResult
    from gradcheck.checks.verified_corrections import Choose, CorrectedFile
    from gradcheck.language.case import Loaded

#: The most rounds: one correction may reveal the next.
_ROUNDS = 20

Run = Callable[["Loaded"], "RunResult"]


def apply_corrections(result: RunResult, run: Run, choose: Choose | None = None) -> tuple[RunResult, bool]:
    """Write every verified correction; return the result, and the success.

    With `choose`, those that it returns, without showing them again."""
    written: set[str] = set()
    kept: set[str] = set()  # files that cannot be written
    number = 0
    for _ in range(_ROUNDS):
        found = [(file, one) for file, one in _find_corrections(result, run, choose) if one.file not in kept]
        if choose is None:
            for _, one in found:
                write_diff(one.file, one.before, one.after)
        changed = {one.file: len(one.corrections) for file, one in found if _write_correction(file, one)}
        kept |= {one.file for _, one in found} - changed.keys()
        if not changed:
            break
        number += sum(changed.values())
        written |= changed.keys()
        result = _rerun_files(result, set(changed), run)
    if number:
        write_stderr(f"wrote {count(number, 'correction')} to {count(len(written), 'file')}")
    elif not kept:
        write_stderr("no correction to write")
    return result, not kept


def _write_correction(file: CaseFileText, one: CorrectedFile) -> bool:
    """Write a file's corrections; return whether that worked."""
    try:
        file.replace(one.after)
    except UsageError as error:
        write_stderr(f"gradcheck: {error}")
        return False
    return True


def _find_corrections(result: RunResult, run: Run, choose: Choose | None) -> list[tuple[CaseFileText, CorrectedFile]]:
    from gradcheck.checks.verified_corrections import correct_file
    from gradcheck.language.case import STDIN

    by_file: dict[str, list[CaseResult]] = {}
    for case in result.cases:
        if case.file != STDIN:
            by_file.setdefault(case.file, []).append(case)
    found: list[tuple[CaseFileText, CorrectedFile]] = []
    for name, cases in by_file.items():
        with contextlib.suppress(InvalidCase):  # which is reported already
            file = CaseFileText.read(Path(name))
            one = correct_file(name, file.text, cases, run, choose)
            found += [(file, one)] if one is not None else []
    return found


def _rerun_files(result: RunResult, files: set[str], run: Run) -> RunResult:
    """Run the files' cases again, and all of a file that was invalid.

    They are not selected anew: a corrected file may be one that did not change, or shift the parts of `--shard`."""
    from gradcheck.language.case import Loaded
    from gradcheck.language.loader import load

    known = {(case.file, case.name) for case in result.cases}
    loaded = load(sorted(files))
    cases = tuple(c for c in loaded.cases if not known.isdisjoint({(c.place.file, c.name), (c.place.file, "")}))
    new = run(Loaded(cases, loaded.errors))
    by_file: dict[str, list[CaseResult]] = {}
    for case in new.cases:
        by_file.setdefault(case.file, []).append(case)
    merged: list[CaseResult] = []
    for case in result.cases:
        merged += by_file.pop(case.file, []) if case.file in files else [case]
    return replace(result, cases=tuple(merged), seconds=result.seconds + new.seconds)


def reject_standard_input(paths: Sequence[str]) -> None:
    """Raise UsageError if cases come from the standard input."""
    from gradcheck.language.case import STDIN

    if STDIN in paths:
        raise UsageError("--fix writes into files, and '-' is the standard input", hint="name the file")
