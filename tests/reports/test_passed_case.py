"""What did not fail: remarks in the line of its case, and every claim with everything it rests on under -v."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gradcheck.checks.result import CaseResult, Comparison, Subject, Trial
from gradcheck.facts import fact
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.reports.passed_case import claim_table, is_qualified, passed_remarks

CERTIFICATE = {
    "method": "exact",
    "arithmetic": "dual numbers modulo primes below 2^31",
    "sizes": [{"n": 2}, {"n": 3}],
    "trials": 6,
    "degree": 5,
    "bound": 1.26e-26,
    "unknowns": ["exp"],
}
PROVED = Subject(ClaimKind.FORMULA, "x", formula="2 * x").passed(shape=(2,), certificate=CERTIFICATE)


def case(*comparisons: Comparison) -> CaseResult:
    return CaseResult("a.yaml::a", "a.yaml", "a", "passed", comparisons=comparisons)


def test_the_line_of_the_case_says_that_it_is_proved() -> None:
    """How unlikely it is that a wrong formula passes is told by -v alone."""
    assert passed_remarks(case(PROVED)) == ["1 formula proved"]


def test_formulas_of_which_some_are_proved() -> None:
    held = Subject(ClaimKind.FORMULA, "y", formula="3 * y").passed()
    assert passed_remarks(case(PROVED, held)) == ["2 formulas hold (1 proved)"]


def test_the_table_names_method_sizes_trials_degree_bound_and_unknowns() -> None:
    (line,) = claim_table(case(PROVED))
    assert (
        "proved at 2 sizes (exact, 6 trials, degree 5, a wrong one would pass with p < 1.26e-26, for any exp)"
        in line.plain
    )


@pytest.mark.parametrize(
    ("certificate", "told"),
    [
        ({"method": "complex step", "elements": 6, "error": 3e-16}, "by complex step at 6 elements (error bar 3e-16)"),
        (
            {"method": "differences", "directions": 1, "error": 1e-9},
            "by differences along 1 direction (error bar 1e-09)",
        ),
        ({"method": "differences", "error": 2e-9}, "by differences (error bar 2e-09)"),
    ],
)
def test_the_table_tells_what_numbers_confirm(certificate: dict[str, object], told: str) -> None:
    (line,) = claim_table(case(Subject(ClaimKind.GRADIENT, "x").passed(shape=(2,), certificate=certificate)))
    assert line.plain.endswith(f"agrees; confirmed {told}")


def test_of_an_empty_gradient_nothing_is_confirmed() -> None:
    certificate = {"method": "complex step", "elements": 0, "error": None}
    (line,) = claim_table(case(Subject(ClaimKind.GRADIENT, "x").passed(shape=(0,), certificate=certificate)))
    assert line.plain.endswith("agrees")


def test_a_kink_needs_no_certificate_in_words() -> None:
    certificate = {"method": "one-sided differences", "subgradients": [-1.0, 1.0]}
    at_kink = Comparison(Subject(ClaimKind.GRADIENT, "x"), "not_differentiable", certificate=certificate)
    (line,) = claim_table(case(at_kink))
    assert line.plain.endswith("not differentiable")
    assert passed_remarks(case(at_kink)) == ["1 point without a derivative, where engines differ"]


def at(number: int, **about: Any) -> Comparison:
    return Subject(ClaimKind.FORMULA, "y", formula="3 * y", trial=Trial(number, 0, **about)).passed()


def test_shapes_are_counted_once_and_other_points_are_what_they_are() -> None:
    here = Subject(ClaimKind.FORMULA, "y", formula="3 * y").passed()
    shapes = [at(1, sizes={"n": 2}, resized=True), at(2, sizes={"n": 7}, resized=True)]
    again = [at(3, sizes={"n": 2}, resized=True), at(4, sizes={"n": 4})]
    assert passed_remarks(case(here, *shapes)) == ["1 formula holds at 2 other shapes"]
    assert passed_remarks(case(here, *shapes, *again)) == ["1 formula holds at 2 other shapes and 2 other points"]
    others = [at(5, sizes={}, kind="moved"), at(6, sizes={}, kind="incoming"), at(7, sizes={}, kind="branch")]
    assert passed_remarks(case(here, *others)) == [
        "1 formula holds at other numbers, other incoming gradients and numbers beyond 1 threshold"
    ]


def test_a_formula_that_nothing_was_compared_with_says_so() -> None:
    found = Subject(ClaimKind.FORMULA, "y", formula="3 * y").passed().with_notes(fact("no_elements"))
    (line,) = passed_remarks(case(found))
    assert line.endswith("; nothing was compared: no elements")


def test_an_input_that_stays_is_named_unless_all_its_numbers_are_proved() -> None:
    found = Subject(ClaimKind.FORMULA, "y", formula="y").passed()
    found = found.with_notes(fact("input_stays", tensor="x", value="zeros(n)"))
    assert passed_remarks(case(found)) == ["1 formula holds; x stays zeros(n)"]
    assert passed_remarks(case(replace(found, certificate={"method": "exact"}))) == ["1 formula proved"]


def test_a_check_that_claims_nothing_says_so() -> None:
    found = Subject(ClaimKind.CHECK, "", formula="x == x").passed().with_notes(fact("same_sides", check="x == x"))
    assert passed_remarks(case(found)) == [
        "1 check holds; x == x compares an expression with itself, which always holds"
    ]
    assert is_qualified(case(found))


def test_what_was_not_tried_is_named() -> None:
    stays = fact("size_stays", size="n", value=4, tensor="t")
    beyond = [fact("branch_not_visited", owner="y", op="gt", where=f"x > {n}") for n in (6, 7)]
    held = Subject(ClaimKind.FORMULA, "y", formula="3 * y").passed()
    assert passed_remarks(case(held.with_notes(stays))) == ["1 formula holds; n stays 4: t is written out"]
    assert passed_remarks(case(held.with_notes(stays, *beyond))) == [
        "1 formula holds; n stays 4: t is written out; not decided for x > 6 and 1 more; -v shows them"
    ]
