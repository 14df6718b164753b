"""The slips of a first case: for each what is said, where, and what to write instead, as `tests/slips/` wishes it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from gradcheck.checks.result import CaseResult
from gradcheck.checks.scheduling.run import run
from gradcheck.checks.verified_corrections import correct_file
from gradcheck.errors import Place
from gradcheck.language.case import Loaded
from gradcheck.language.loader import load_text
from gradcheck.reports.phrases import say
from tests.tables import try_each

FOLDER = Path(__file__).parent / "slips"
_SLIP = re.compile(r"^## (?P<title>[^\n]+)\n+```yaml\n(?P<case>.*?)^```\n+```text\n(?P<answer>.*?)^```$", re.M | re.S)


class Slip(NamedTuple):
    file: str
    title: str
    case: str
    answer: str


def slips() -> Iterator[Slip]:
    for file in sorted(FOLDER.glob("*.md")):
        yield from (Slip(file.stem, *found.groups()) for found in _SLIP.finditer(file.read_text(encoding="utf-8")))


SLIPS = list(slips())


@cache
def results(case: str) -> tuple[CaseResult, ...]:
    """What comes of a case, errors of its file first."""
    cases, errors = load_text(case, "case.yaml")
    return run(Loaded(tuple(cases), tuple(errors))).cases


def told(case: str) -> list[str]:
    """What is said of a case, a line for each error: of a file, else of a run."""
    return [line for result in results(case) for line in _of_result(result)]


def _of_result(result: CaseResult) -> list[str]:
    assert result.status != "crashed", result.errors
    lines = [_line(error.place, say(error.message), error.hint) for error in result.errors]
    seen: set[Place] = set()
    for c in result.comparisons:
        if c.diagnoses and c.status == "failed" and c.place not in seen:
            seen.add(c.place)
            suggested = [d for d in c.diagnoses if d.kind in ("did_you_mean", "derived", "these_numbers_only")]
            lines.append(_line(c.place, say(c.mismatch) or "is wrong", *(say(d.message) for d in suggested)))
    return lines + [_line(result.place, say(warning)) for warning in result.warnings]


def _line(place: Place, *parts: str) -> str:
    return f"{place.line}:{place.column} {'; '.join(part for part in parts if part)}"


@pytest.mark.parametrize("file", sorted({slip.file for slip in SLIPS}))
def test_slips_are_told_as_wished_for(file: str) -> None:
    by_title = {slip.title: slip for slip in SLIPS if slip.file == file}

    def check(title: str) -> None:
        assert told(by_title[title].case) == by_title[title].answer.splitlines()

    try_each(by_title, check)


@pytest.mark.parametrize("slip", [s for s in SLIPS if "did you mean" in s.answer], ids=lambda slip: slip.title)
def test_what_may_have_been_meant_can_be_written_into_the_file(slip: Slip) -> None:
    fixed = correct_file("case.yaml", slip.case, list(results(slip.case)), run)
    assert fixed is not None
    assert fixed.after != slip.case


def test_there_are_enough_of_them_and_each_has_its_own_name() -> None:
    titles = [slip.title for slip in SLIPS]
    assert len(titles) >= 250
    assert len(set(titles)) == len(titles)
    files = [file.read_text(encoding="utf-8") for file in FOLDER.glob("*.md")]
    assert sum(len(re.findall(r"^## ", text, re.M)) for text in files) == len(titles)  # none is misspelled
