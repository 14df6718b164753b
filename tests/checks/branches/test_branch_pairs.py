"""Sides of two comparisons at once."""

from __future__ import annotations

import pytest

from gradcheck.checks.branches.branch_pairs import unvisited_pairs
from gradcheck.checks.branches.branch_search import BranchSearch
from gradcheck.checks.branches.branch_sites import Goal
from gradcheck.checks.branches.margin_recording import branching_owners
from gradcheck.language.problem import Problem
from tests.checks.build import context_of

CASE = """
    dims: {n: 3}
    inputs: {x: randn(n), w: randn(n)}
    graph: {y: x * w}
    backward: {y: randn(n)}
    formulas: {x: "FORMULA"}
"""


def found(formula: str) -> list[tuple[float, float]]:
    context = context_of(CASE.replace("FORMULA", formula))
    owners = branching_owners(context.case)
    problems = unvisited_pairs([context.points.own], owners, owners)
    return [pair for p in problems for pair in zip(p.inputs["x"].tolist(), p.inputs["w"].tolist(), strict=True)]


def test_an_element_is_found_on_both_sides() -> None:
    assert any(x > 3 and w < -3 for x, w in found("w * grad(y) * (1 + (x > 3) * (w < -3))"))


def test_between_two_thresholds_that_lie_close_together() -> None:
    assert any(3 < x < 3.0001 for x, _ in found("w * grad(y) * (1 + (x > 3) * (x < 3.0001))"))


def test_two_that_pull_in_opposite_ways() -> None:
    """What is above 0 goes up to 20, and must come down to be below 0."""
    pairs = found("w * grad(y) * (1 + (abs(x) > 20) * (x < 0).all())")
    assert any(
        all(x < 0 for x, _ in pairs[i : i + 3]) and min(pairs[i : i + 3])[0] < -20 for i in range(0, len(pairs), 3)
    )


def test_where_one_number_rounds_to_another_than_is_asked_for() -> None:
    """No slope leads into the half of an interval in which `round` and `floor` part."""
    pairs = found("w * grad(y) * where((floor(x) == 9) & (round(x) == 10), 2, 1)")
    assert any(9.5 <= x < 10 for x, _ in pairs)


def test_what_does_not_go_together_is_not_looked_for() -> None:
    assert all(x <= 6 or x > 0 for x, _ in found("w * grad(y) * where(x > 0, 1, where(x > 6, 2, 1))"))


@pytest.mark.parametrize("test", ["2 * x > 12", "x / 3 > 2", "-5 * x < -30"])
def test_sides_of_one_line_are_not_searched_where_they_exclude_each_other(
    test: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    searched: list[tuple[str, ...]] = []
    find = BranchSearch.find

    def watched(self: BranchSearch, *goals: Goal, half: int = 0) -> Problem | None:
        searched.append(tuple(f"{site.op}{site.sign_of(side):+d}" for site, side in goals))
        return find(self, *goals, half=half)

    monkeypatch.setattr(BranchSearch, "find", watched)
    found(f"w * grad(y) * where(x > 0, 1, where({test}, 2, 1))")
    beyond = "lt-1" if "<" in test else "gt+1"
    assert ("gt-1", beyond) not in searched
    assert searched  # between the two thresholds both are possible
