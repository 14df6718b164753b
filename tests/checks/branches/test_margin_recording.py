"""Where numbers are compared, and on which side they are."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.checks.branches.branch_sites import BranchSite
from gradcheck.checks.branches.margin_recording import (
    branching_owners,
    compared_operands,
    margins_at,
    sides_met,
    truncates_to_integers,
)
from tests.from_text import case_of
from tests.from_text import problem_from as problem_of

X, T, WHOLE = np.array([1.5]), np.array([True]), np.array([1])


def visited(graph: str, numbers: list[float], formula: str = "x") -> dict[tuple[str, str], set[int]]:
    text = f"{{inputs: {{x: {numbers}}}, graph: {{y: '{graph}'}}, backward: {{y: ones_like(y)}}"
    problem = problem_of(text + f", formulas: {{x: '{formula}'}}}}")
    found = sides_met(margins_at(problem, {"y": np.ones(len(numbers))}, branching_owners(problem.case)))
    return {(site.owner, site.op): signs for site, signs in found.items()}


@pytest.mark.parametrize(
    ("graph", "numbers", "signs"),
    [
        ("relu(x)", [0.1, 0.2], {1}),
        ("relu(x)", [0.1, -0.2], {1, -1}),
        ("F.softplus(x)", [1.0, 2.0], {-1}),
        ("F.softplus(x)", [1.0, 20.5], {-1, 1}),
        ("clamp(x, max=5)", [4.9, 50.0], {-1}),  # 50 is far beyond 5: another threshold may lie between
    ],
)
def test_the_rules_of_ops_tell_their_kinks(graph: str, numbers: list[float], signs: set[int]) -> None:
    near = [found for (owner, _), found in visited(graph, numbers).items() if owner == "y"]
    assert near
    assert set().union(*near) - {0} <= {-1, 1}
    assert any(found & {-1, 1} <= signs for found in near)


def test_comparisons_in_formulas_are_seen_and_those_in_smooth_code_are_none() -> None:
    formula = "where(x > 4, 4 * x, 2 * x) * grad(y)"
    assert visited("x * x", [1.0, 4.2], formula)[formula, "gt"] == {1}  # 1 is not near 4
    assert visited("x * x", [3.9, 4.2], formula)[formula, "gt"] == {-1, 1}
    assert visited("x * x", [1.0, 2.0]) == {}


def test_equality_has_two_sides_and_all_at_once_a_third() -> None:
    formula = "where((x == round(x)).all(), 3 * x, 2 * x)"
    found = visited("x * x", [1.0, 2.2], formula)
    assert found[formula, "eq"] == {0, 1}
    assert visited("x * x", [1.0, 2.0], formula)[formula, "eq"] == {0, 2}
    assert BranchSite("f", 0, "eq", is_reduced=True).sides == (0, 1, 2)
    assert BranchSite("f", 0, "gt", is_reduced=True).sides == (-2, -1, 1, 2)
    assert BranchSite("f", 0, "gt").sides == (-1, 1)


def test_what_guards_against_a_division_by_zero_is_no_branch() -> None:
    formula = "x / clamp(abs(x), min=1e-12)"
    assert all(op != "ge" for owner, op in visited("x * x", [1.0, 2.0], formula) if owner == formula)


def test_the_edge_of_a_domain_is_a_branch_of_a_claim_alone() -> None:
    assert ("x * isfinite(log(x))", "log") in visited("x * x", [1.0], "x * isfinite(log(x))")
    assert visited("log(x)", [1.0]) == {}


def test_a_site_is_on_a_side_by_the_sign_of_what_is_finite() -> None:
    site = BranchSite("f", 0, "gt")
    assert site.is_on(np.array([np.nan, 1.0]), 1)
    assert not site.is_on(np.array([np.nan, 1.0]), -1)
    assert BranchSite("f", 0, "gt", is_reduced=True).is_on(np.array([2.0, 1.0]), 2)
    assert not BranchSite("f", 0, "gt", is_reduced=True).is_on(np.array([2.0, -1.0]), 2)
    assert not site.is_on(np.array([np.inf]), 1)


def test_checks_state_what_they_compare() -> None:
    case = case_of("{inputs: {x: [1.0]}, graph: {y: x * x}, checks: ['x > 0']}")
    assert branching_owners(case) == set()


def test_operands_are_compared_with_each_other_or_with_0() -> None:
    for name in ("gt", "eq", "isclose", "maximum"):
        assert [*compared_operands(name, (X, 2.0), T, is_claim=False)] == [(X, 2.0)]
    for name in ("abs", "signbit", "logical_not"):
        assert [*compared_operands(name, (X,), T, is_claim=False)] == [(X, 0.0)]
    assert [*compared_operands("logical_and", (X, T), T, is_claim=False)] == [(X, 0.0)]
    assert [*compared_operands("copysign", (1.0, X), X, is_claim=False)] == [(X, 0.0)]
    assert not [*compared_operands("gt", (WHOLE, WHOLE), T, is_claim=True)]


def test_an_edge_is_asked_of_claims_alone() -> None:
    assert [*compared_operands("log1p", (X,), X, is_claim=True)] == [(X + 1, 0.0)]
    assert not [*compared_operands("log1p", (X,), X, is_claim=False)]


def test_a_cast_asks_whether_numbers_are_0_or_cuts_them() -> None:
    assert [*compared_operands("to", (X, bool), T, is_claim=False)] == [(X, 0.0)]
    assert not [*compared_operands("to", (X, int), WHOLE, is_claim=False)]
    assert truncates_to_integers("to", (X, int), WHOLE)
    assert not truncates_to_integers("to", (WHOLE, int), WHOLE)
