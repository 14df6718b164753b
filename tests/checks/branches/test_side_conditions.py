"""Sides of comparisons in the case's own names."""

from __future__ import annotations

import pytest

from gradcheck.checks.branches.branch_sites import BranchSite
from gradcheck.checks.branches.margin_recording import branching_owners, margins_at, sides_met
from gradcheck.checks.branches.side_conditions import side_condition
from gradcheck.checks.points.point import Point
from tests.checks.build import context_of, point_of


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
