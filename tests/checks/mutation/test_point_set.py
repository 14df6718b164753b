"""The points of a run, and those at which none looks."""

from __future__ import annotations

import numpy as np

from gradcheck.checks.mutation.point_set import PointSet
from gradcheck.checks.options import Options, engines_of
from tests.from_text import case_of


def points_of(text: str) -> PointSet:
    options = Options()
    return PointSet(case_of(text), options, engines_of(options))


def test_trials_are_those_of_a_run() -> None:
    points = points_of("{inputs: {x: 'randn(3)'}, graph: {loss: x.sum()}, formulas: {x: ones(3)}}")
    assert [point.trial and point.trial.number for point in points.trials] == [1, 2, 3]
    assert points.own.trial is None


def test_a_case_in_which_nothing_varies_has_none() -> None:
    assert points_of("{inputs: {x: [1, 2]}, graph: {loss: x.sum()}, formulas: {x: ones(2)}}").trials == []


def test_unseen_points_have_other_numbers() -> None:
    points = points_of("{inputs: {x: [1, 2], r: 'randn(2)'}, graph: {y: x * r}, backward: {y: [1, 1]}}")
    numbers = [point.problem for point in (points.own, *points.unseen)]
    for name in ("x", "r"):
        assert len({tuple(problem.inputs[name]) for problem in numbers}) == 4
    assert len({tuple(np.asarray(problem.seeds[0]["y"])) for problem in numbers}) == 4


def test_unseen_points_go_as_far_as_the_own_one() -> None:
    """The step raises at the case's own numbers, and at all others."""
    points = points_of(
        "{inputs: {x: [1, 2]}, graph: {y: x * x}, steps: [{backward: y, raises: non_scalar_backward}, {zero_grad: x}]}"
    )
    assert [len(point.want.states) for point in (points.own, *points.unseen)] == [2, 2, 2, 2]
