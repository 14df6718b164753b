"""Which sides of comparisons points are on, and which are missing."""

from __future__ import annotations

import pytest

from gradcheck.checks.branches.branch_coverage import BranchCoverage, observable_sides, side_condition
from gradcheck.checks.branches.branch_sites import BranchSite
from gradcheck.checks.branches.margin_recording import branching_owners, margins_at, sides_met
from gradcheck.checks.points.point import Point
from gradcheck.errors import ShapeMismatch
from tests.checks.build import context_of, point_of

CLAMPED = """
    inputs: {x: [1.0, 2.0]}
    graph: {y: "clamp(x, -5, 5)"}
    backward: {y: randn_like(y)}
    formulas: {x: grad(y)}
"""


def test_what_is_missing_is_reached_and_then_missing_no_more() -> None:
    context = context_of(CLAMPED)
    coverage = BranchCoverage(context.case)
    coverage.visit([context.points.own])
    wanted = 0
    for site, side in coverage.missing_goals():
        wanted += 1
        for problem in coverage.reach(site, side):
            coverage.visit([context.points.branch_point(problem, wanted)], (site, side))
            break
    assert wanted > 0
    assert list(coverage.missing_goals()) == []


def test_a_case_without_branches_misses_none() -> None:
    context = context_of("{inputs: {x: [1.0]}, graph: {y: x * x}, formulas: {x: 2 * x * grad(y)}}")
    coverage = BranchCoverage(context.case)
    coverage.visit([context.points.own])
    assert list(coverage.missing_goals()) == []


def test_a_point_that_the_core_refuses_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(*_: object) -> None:
        raise ShapeMismatch("sizes differ")

    context = context_of(CLAMPED)
    coverage = BranchCoverage(context.case)
    monkeypatch.setattr("gradcheck.checks.branches.branch_coverage.margins_at", refuses)
    coverage.visit([context.points.own])
    assert list(coverage.missing_goals()) == []


def test_a_guard_is_none_the_less_where_what_it_guards_is_0() -> None:
    """Nobody means to derive what a norm below 1e-8 makes of `cosine_similarity`."""
    case = "{inputs: {x: VALUES, u: [1.0, 2.0]}, graph: {y: 'cosine_similarity(x, u, dim=0)'}, formulas: {x: u}}"
    zero, own = (context_of(case.replace("VALUES", values)) for values in ("[0.0, 0.0]", "[3.0, 1.0]"))
    coverage = BranchCoverage(own.case)
    coverage.visit([zero.points.own])
    assert any(site.owner == "y" for site, _ in coverage.missing_goals())
    coverage.visit([own.points.own])
    assert not any(site.owner == "y" for site, _ in coverage.missing_goals())


def test_a_comparison_beyond_many_others_is_missing_too() -> None:
    many = " + ".join(f"0 * (x > {number})" for number in range(70))
    context = context_of(f"{{inputs: {{x: [0.5]}}, graph: {{y: x * x}}, formulas: {{x: '2 * x * grad(y) + {many}'}}}}")
    coverage = BranchCoverage(context.case)
    coverage.visit([context.points.own])
    assert {site.number for site, _ in coverage.missing_goals()} >= {*range(2, 70)}


def test_observed_sides_spend_the_budget() -> None:
    context = context_of("{inputs: {x: [0.5]}, graph: {y: x * x}, formulas: {x: 'where(x > 3, 1, 2 * x * grad(y))'}}")
    coverage = BranchCoverage(context.case)
    coverage.visit([context.points.own])
    left = coverage.budget.left
    coverage.visit([context.points.own])
    assert coverage.budget.left < left


@pytest.mark.parametrize(
    ("formula", "shown"),
    [
        ("grad(y) * (x > 0) * (1 + (x < -2))", [{-1, 1}, {1}]),  # what is below -2 is masked
        ("grad(y) * (1 + (x < -2))", [{-1, 1}]),
        ("where(x > 0, grad(y), grad(y))", [set()]),
        ("grad(y) * (x == 1)", [{0, 1}]),
        ("grad(y) * (x > 0).all()", [{-1}]),  # turning what is above leaves another below
        ("relu(x) * grad(y)", []),  # not stated, but inside an op
    ],
)
def test_what_shows(formula: str, shown: list[set[int]]) -> None:
    context = context_of(
        "{inputs: {x: [-3.0, 1.0, 2.0, -1.0]}, graph: {y: x * x}, backward: {y: [1.0, 2.0, 3.0, 4.0]},"
        f" formulas: {{x: '{formula}'}}}}"
    )
    point = context.points.own
    found = observable_sides(point.problem, point.scope(0).gradients, {formula}, point.scope(0))
    assert list(found.values()) == shown


def test_a_step_that_comes_to_several_tensors() -> None:
    context = context_of(
        "{inputs: {x: [[3.0, 1.0], [0.0, 2.0]]}, graph: {y: (x * x).sum()},"
        " let: {s: 'linalg.svd(where(x > 1, x, 2 * x), full_matrices=False)'}, formulas: {x: '2 * x + 0 * s[0]'}}"
    )
    point = context.points.own
    found = observable_sides(point.problem, point.scope(0).gradients, {"s"}, point.scope(0))
    assert {site.op: shown for site, shown in found.items()}["gt"] == {1}  # -1 is where either branch is 0


def sites(point: Point, op: str) -> list[BranchSite]:
    found = sides_met(
        margins_at(point.problem, point.scope(point.last_step).gradients, branching_owners(point.problem.case))
    )
    return [site for site in found if site.op == op]


@pytest.mark.parametrize(
    ("expression", "op", "side", "told"),
    [
        ("where(x > 6, x, x * x)", "gt", 1, "x > 6"),
        ("where(x > 6, x, x * x)", "gt", -1, "x < 6"),
        ("where(2.5 >= x, x, x * x)", "ge", -1, "x > 2.5"),
        ("where(abs(x) > 3, x, x * x)", "gt", 1, "abs(x) > 3"),
        ("where(x == 2, x, x * x)", "eq", 0, "x == 2"),
        ("where(x != 2, x, x * x)", "ne", 1, "x != 2"),
        ("where(x * x + x > 1 + x * 3, x, x * x)", "gt", 1, "the other side of `x * x + x > 1 + x * 3`"),
    ],
)
def test_a_side_is_told_by_operand_and_threshold(expression: str, op: str, side: int, told: str) -> None:
    point = point_of(f"{{inputs: {{x: [1.0, -2.5, 4.0]}}, graph: {{y: '{expression}'}}, backward: {{y: [1, 1, 1]}}}}")
    (site, *_) = sites(point, op)
    assert side_condition([point], site, side) == told


def test_what_no_claim_has_been_tried_at_is_named() -> None:
    context = context_of("""
        dims: {n: 4}
        inputs: {x: "uniform(0.1, 1, n)"}
        graph: {z: x * x, y: "clamp(z, -2, 3) * x"}
        backward: {y: randn_like(y)}
    """)
    point = context.points.own
    known = [site for op in ("ge", "le", "gt", "lt") for site in sites(point, op)]
    told = {side_condition([point], site, side) for site in known for side in (-1, 1)}
    assert {"z > 3", "z < -2"} <= told
