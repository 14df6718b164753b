"""Every cause at a glance, on one screen."""

from __future__ import annotations

from typing import Any

import pytest

from gradcheck.checks.result import CaseResult
from gradcheck.errors import Place
from gradcheck.language.case import Edit
from gradcheck.reports import Look, render
from gradcheck.reports.causes import find_causes
from gradcheck.reports.formats.full import MAX_FULL_CAUSES
from gradcheck.reports.overview import MOST_LINES, overview
from tests.reports.conftest import diagnosis, make_case, make_failed, make_run


def formula(name: str, **fields: Any) -> CaseResult:
    wrong = make_failed([1.0], [2.0], what="formula", engine="case", tensor=name, formula="x @ y",
                        place=Place(f"{name}.yaml", 3, 6), **fields)  # fmt: skip
    return make_case(name, "failed", file=f"{name}.yaml", comparisons=(wrong,))


def lines(*cases: CaseResult, width: int = 80) -> list[str]:
    run = make_run(*cases)
    return [line.plain for line in overview(run, find_causes(run), Look(width=width))]


def test_a_cause_is_a_place_a_sentence_and_what_was_meant() -> None:
    meant = diagnosis("did_you_mean", "", formula="x.T @ y", edit=Edit(0, 1, "x.T"))
    assert lines(formula("W", diagnoses=(meant,)), formula("b"), make_case("fine")) == [
        "2 failed of 3 cases, for 2 reasons:",
        "",
        "  W.yaml:3:6: the formula of W is wrong",
        "      did you mean  x.T @ y ?",
        "  b.yaml:3:6: the formula of b is wrong",
    ]


@pytest.mark.parametrize("number", [3, 19, 20, 21, 200])
def test_it_never_takes_more_than_a_screen(number: int) -> None:
    found = lines(*(formula(f"W{i}") for i in range(number)))
    assert len(found) <= MOST_LINES
    told = sum("is wrong" in line for line in found)
    assert told == number or found[-1] == f"  and {number - told} more causes, told below"


def test_of_many_causes_the_first_are_told_in_full_the_others_in_a_line() -> None:
    many = make_run(*(formula(f"W{i}") for i in range(MAX_FULL_CAUSES + 30)))
    text = render(many, "full", Look())
    assert text.count("FAIL  W") == MAX_FULL_CAUSES
    assert "30 further causes; -v shows all in full:\n\n  W20.yaml:3:6: the formula of W20 is wrong\n" in text
    assert render(many, "full", Look(verbosity=1)).count("FAIL  W") == MAX_FULL_CAUSES + 30


def test_it_stands_where_not_everything_is_seen_at_once() -> None:
    short = render(make_run(formula("W")), "full", Look())
    assert short.startswith("FAIL  W\n")
    long = render(make_run(*(formula(f"W{i}") for i in range(8))), "full", Look())
    assert long.startswith("8 failed of 8 cases, for 8 reasons:\n")
