"""Everything that is wrong with a case, each in a line with its place."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcheck.errors import Place
from gradcheck.reports.problems import Problem, locate, problems

ONE, TWO = np.ones(2), np.full(2, 2.0)


def test_a_case_that_does_what_it_says_has_none(case: Any, failed: Any) -> None:
    assert problems(case()) == []
    assert problems(case(status="xfailed", comparisons=(failed(ONE, TWO),))) == []


def test_errors_come_first_and_findings_by_their_size(case: Any, failed: Any, error: Any) -> None:
    wrong = case(
        status="failed",
        errors=(error("crash", "boom", Place("other.yaml", 3, 4)),),
        comparisons=(failed(ONE, TWO, tensor="x"),),
    )
    first, second = problems(wrong)
    assert first == Problem("other.yaml", 3, 4, "boom", float("inf"))
    assert (second.location, second.size) == ("cases/chain.yaml:12:3", 0.5)
    assert second.message.startswith("gradient of x: core differs from torch")


def test_what_has_no_numbers_is_as_large_as_can_be(case: Any, comparison: Any) -> None:
    (found,) = problems(case(status="failed", comparisons=(comparison(status="failed", max_rel=None),)))
    assert found.size == float("inf")


def test_a_case_says_why_where_no_comparison_does(case: Any) -> None:
    assert [found.message for found in problems(case(status="failed"))] == ["no gradient was compared"]
    (found,) = problems(case(status="xpassed", reason="a bug"))
    assert found.message == "passes, though it is marked xfail: a bug"


def test_a_place_without_a_line_is_the_cases_own(case: Any) -> None:
    own = case(place=Place("a.yaml", 7, 1))
    assert locate(own, Place()) == Place("a.yaml", 7, 1)
    assert locate(own, Place("b.yaml", 2, 5)) == Place("b.yaml", 2, 5)


def test_a_location_is_as_exact_as_it_is_known() -> None:
    assert Problem("a.yaml", 0, 0, "").location == "a.yaml"
    assert Problem("a\nb.yaml", 3, 0, "").location == "a\\nb.yaml:3"
