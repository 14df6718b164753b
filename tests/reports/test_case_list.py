"""What a run was about: a line a case, and a line a file where there are many."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, get_args

from gradcheck.checks.result import CaseStatus
from gradcheck.facts import fact
from gradcheck.reports import Look
from gradcheck.reports.case_list import MARKS, MOST_CASES, QUALIFIED_MARK, case_list
from tests.reports.conftest import make_case, make_comparison, make_run


def lines(*cases: Any, **look: Any) -> list[str]:
    return [line.plain for line in case_list(make_run(*cases), Look(**look))]


def test_what_failed_is_told_elsewhere() -> None:
    assert lines(make_case("a", "failed"), make_case("b", comparisons=(make_comparison(),))) == [
        "cases/chain.yaml",
        "  ok      b  1 gradient agrees",
    ]
    assert lines(make_case("a", "failed")) == []


def test_beyond_fifty_cases_a_file_has_a_line() -> None:
    many = [make_case(f"c{i}", file=f"f{i // 20}.yaml") for i in range(MOST_CASES + 1)]
    many[3], many[45] = make_case("c3", "failed", file="f0.yaml"), make_case("c45", "skipped", file="f2.yaml")
    assert lines(*many) == [
        "f0.yaml  ...F................",
        "f1.yaml  ....................",
        "f2.yaml  .....s.....",
        "  (. passed, F failed, s skipped; -v has a line a case)",
    ]
    assert len(lines(*many, verbosity=1)) > MOST_CASES
    assert lines(*many, verbosity=-1) == []


def test_a_file_of_very_many_cases_has_its_counts() -> None:
    many = [make_case(f"c{i}", "failed" if i < 3 else "passed") for i in range(200)]
    assert lines(*many)[0] == "cases/chain.yaml  197 passed, 3 failed"


def test_a_remark_is_never_dropped() -> None:
    """However narrow the terminal is."""
    notes = (fact("size_stays", size="n", value=4, tensor="t"), fact("branch_not_visited", where="x > 6"))
    formula = replace(make_comparison("formula", "x", engine="case", formula="y"), notes=notes)
    case = make_case("a name that takes some room", comparisons=(formula, make_comparison()))
    wanted = "1 formula holds; n stays 4: t is written out; not decided for x > 6, 1 gradient agrees"
    for width in (40, 60, 80, 200):
        found = lines(case, width=width)
        assert wanted in " ".join(" ".join(found).split())
        assert all(len(line) <= width for line in found)
    many = [replace(case, name=f"c{i}") for i in range(MOST_CASES + 1)]
    assert lines(*many)[0].endswith(QUALIFIED_MARK * 5) or "passed" in lines(*many)[0]


def test_every_status_has_a_mark_of_its_own() -> None:
    assert set(MARKS) == set(get_args(CaseStatus))
    assert len({*MARKS.values(), QUALIFIED_MARK}) == len(MARKS) + 1
