"""Trials at which claims choose otherwise, among sizes and by what is drawn."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from gradcheck.checks.claims.choice_coverage_trials import ChoiceTrials
from gradcheck.checks.points.admissible import is_informative
from gradcheck.checks.points.point import Point
from tests.checks.build import context_of

CASE = """{{dims: {{n: 4}}, inputs: {{x: 'randn(n)'}}, constants: {{t: 'randint(0, 9, (n,))'}}, graph: {{y: {graph}}},
backward: {{y: 'randn(n)'}}, formulas: {{x: '2 * x * grad(y) * {factor}'}}}}"""


def visited(factor: str, graph: str = "x * x") -> tuple[list[Point], list[Mapping[str, int]]]:
    """The points that are looked at, of which those that tell something are trials."""
    context = context_of(CASE.format(graph=graph, factor=factor))
    looked_at: list[Point] = []

    def look(point: Point | None) -> bool:
        if point is not None:
            looked_at.append(point)
        return point is not None

    choices = ChoiceTrials(context.case, context.points, look, 0)
    choices.visit()
    return looked_at, choices.choice_sizes


def test_where_nothing_is_chosen_nothing_is_looked_at() -> None:
    assert visited("1") == ([], [])


def test_sizes_and_draws_that_decide() -> None:
    by_size, _ = visited("(1 + (n == 6))")
    assert 6 in {point.problem.sizes["n"] for point in by_size}
    by_draw, of_sizes = visited("(1 + (t == 7).all())")
    assert any((point.problem.constants["t"] == 7).all() for point in by_draw)
    assert not of_sizes


@pytest.mark.parametrize("factor", ["(n % 13 + 1)", "(t.max() % 5 + 1)"])
def test_there_are_few_of_them(factor: str) -> None:
    assert 4 < len(visited(factor)[0]) <= 4 + 8 * 3


def test_a_size_at_which_all_gradients_are_0_is_tried_several_times() -> None:
    points, _ = visited("(1 + (n == 6))", graph="x * x * 0")
    assert not any(map(is_informative, points))
    assert sum(point.problem.sizes["n"] == 6 for point in points) <= 3
