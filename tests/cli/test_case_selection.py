"""What a run is about, beyond what `select` finds: parts of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gradcheck.cli.case_selection import CaseSelection
from gradcheck.cli.group import NothingToDo


@pytest.fixture
def many(cases: Path, bad: Path) -> Path:
    for n in range(5):
        (cases / f"more{n}.yaml").write_text("inputs: {x: 1}\ngraph: {y: x + x}\n")
    return cases


def test_each_case_and_each_broken_file_is_in_one_part(many: Path) -> None:
    whole = CaseSelection(("cases",))()
    parts = [CaseSelection(("cases",), shard=(which, 3))() for which in (1, 2, 3)]
    assert sorted(case.id for part in parts for case in part.cases) == sorted(case.id for case in whole.cases)
    assert sorted(map(str, (e for part in parts for e in part.errors))) == sorted(map(str, whole.errors))
    assert {len(part.cases) for part in parts} == {2, 3}


def test_some_cases_of_a_file_are_no_whole_file() -> None:
    """Entries of a baseline about the others are neither told as gone nor dropped."""
    assert CaseSelection(("cases",)).has_whole_files
    assert not CaseSelection(("cases",), changed_since="HEAD").has_whole_files


def test_parts_are_the_same_on_machines_with_other_failures(many: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = [CaseSelection(("cases",), shard=(1, 3))()]
    for failed in ("cases/more1.yaml::more1", "cases/more4.yaml::more4"):
        monkeypatch.setattr("gradcheck.cli.last_failed.read_last_failed", lambda failed=failed: frozenset({failed}))
        parts.append(CaseSelection(("cases",), shard=(1, 3), failed_first=True)())
    assert len({frozenset(case.id for case in part.cases) for part in parts}) == 1


def test_a_part_that_is_empty_is_told(cases: Path) -> None:
    with pytest.raises(NothingToDo, match=r"part 3 of 3 is empty: there is no more than 2; make fewer parts"):
        CaseSelection(("cases",), shard=(3, 3))()


@pytest.mark.parametrize("shard", ["3/2", "0/2", "1", "a/b", "1/0"])
def test_what_is_no_part_is_refused(cases: Path, gradcheck: Any, shard: str) -> None:
    outcome = gradcheck("run", "--shard", shard)
    assert outcome.code == 2
    assert f"'{shard}' is no part of a whole" in outcome.err


@pytest.mark.parametrize(
    ("jobs", "told"), [("0", "0 processes check nothing"), ("many", "neither a number nor 'auto'")]
)
def test_numbers_of_processes(cases: Path, gradcheck: Any, jobs: str, told: str) -> None:
    outcome = gradcheck("run", "-j", jobs)
    assert outcome.code == 2
    assert told in outcome.err
