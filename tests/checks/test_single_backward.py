"""One backward pass alone, at the case's own numbers, elsewhere, and at corners."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.checks.options import Engines
from gradcheck.checks.points.point import Point
from gradcheck.checks.single_backward import TRIALS, BackwardPoints, differs_from_gradient, pass_alone, sample_at
from gradcheck.engines.core import Core
from gradcheck.facts import Fact, fact
from gradcheck.language.sampling import draw
from tests.from_text import case_of

PASSES = """
    inputs: {x: [1, 2], w: [3, 4]}
    graph: {y: x * w, z: y.sum()}
    steps: [{backward: z}, {zero_grad: all}, {forward: {x: [5, 6]}}, {backward: {y: [7, 8]}}]
    formulas: {w: grad(y) * x}
"""


def passes(text: str, step: int = 0) -> BackwardPoints:
    found = BackwardPoints.of(Point(draw(case_of(text)), Engines((), Core())), step)
    assert not isinstance(found, Fact)
    return found


def test_a_pass_alone_has_the_inputs_that_it_had_then_and_claims_nothing() -> None:
    problem = draw(case_of(PASSES))
    first, last = pass_alone(problem, 0), pass_alone(problem, 3)
    assert [first.inputs["x"].tolist(), last.inputs["x"].tolist()] == [[1, 2], [5, 6]]
    assert first.inputs["w"].tolist() == last.inputs["w"].tolist() == [3, 4]
    (seeds,) = last.seeds
    assert seeds["y"] is not None
    assert seeds["y"].tolist() == [7, 8]
    assert [step.action for step in last.case.steps] == ["backward"]
    assert not last.case.formulas


def test_where_sizes_or_numbers_are_open_there_are_trials() -> None:
    found = passes("{dims: {n: 3}, inputs: {x: 'randn(n)'}, graph: {y: (x * x).sum()}}")
    assert len(found.other_points) == TRIALS
    sizes = [one.alone.problem.sizes["n"] for one in found.all]
    assert sizes[0] == 3
    assert 1 in sizes
    assert found.proved_at == {}
    assert sample_at(found.own.alone).gradients["x"].shape == (3,)


def test_literals_are_moved_where_nothing_else_is_open() -> None:
    """A matrix that happens to be symmetric is not, elsewhere."""
    found = passes("{inputs: {x: [[1, 2], [2, 5]]}, graph: {y: (x * x).sum()}}")
    moved = [one.alone.problem.inputs["x"] for one in found.other_points]
    assert len(moved) == 2
    assert not np.allclose(moved[0], moved[0].T)


def test_where_moved_literals_leave_the_domain_there_is_one_point_less() -> None:
    found = passes("{inputs: {x: [0.5, 2, 3, 0.25, 1, 2]}, graph: {y: log(x).sum(), z: sqrt(x).sum() + y}}")
    assert all((one.alone.problem.inputs["x"] > 0).all() for one in found.other_points)


def test_corners_are_zeros_and_small_integers_where_numbers_are_normal() -> None:
    found = passes("{inputs: {x: 'randn(6)', w: 'uniform(1, 2, [6])'}, graph: {y: (x * w).sum()}}")
    first, second = (corner.alone.problem.inputs for corner in found.corners)
    assert not first["x"].any()
    assert set(second["x"].tolist()) <= {-1.0, 0.0, 1.0}
    assert second["x"].any()
    assert (first["w"] >= 1).all()


@pytest.mark.parametrize(
    ("claimed", "undefined", "missed"),
    [([1.0, 2.0], False, False), ([1.0, 2.1], False, True), ([1.0, np.nan], False, True), ([1.0, np.nan], True, False)],
)
def test_what_differs_from_a_gradient_misses_it(claimed: list[float], undefined: bool, missed: bool) -> None:
    assert differs_from_gradient(np.array(claimed), np.array([1.0, 2.0]), may_be_undefined=undefined) is missed
    assert differs_from_gradient(np.zeros(3), np.zeros(2), may_be_undefined=True)
    assert not differs_from_gradient(np.array([5.0]), np.array([np.inf]), may_be_undefined=False)


def test_a_pass_that_raises_cannot_be_run() -> None:
    case = case_of("{inputs: {x: [1, 2]}, graph: {y: x * x}, backward: y}")
    assert BackwardPoints.of(Point(draw(case), Engines((), Core())), 0) == fact("pass_not_run")
