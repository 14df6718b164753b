"""Points: drawn again until they say something, kept, and found again from their record."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcheck.checks.points import ATTEMPTS, OwnPoint, Point, draw_until
from gradcheck.checks.result import Trial
from gradcheck.engines.base import Evaluation
from gradcheck.engines.core import Core
from gradcheck.facts import Fact, fact
from gradcheck.language.problem import Problem
from gradcheck.language.trials import Variation
from tests.checks.build import context_of, point_of
from tests.from_text import case_of

GENERAL = """
    dims: {n: 3}
    inputs: {x: "randn(n)"}
    graph: {y: x * x}
    backward: {y: "randn(n)"}
    formulas: {x: 2 * x * grad(y)}
"""


def test_a_point_evaluates_once() -> None:
    point = point_of(GENERAL)
    assert point.want is point.want
    assert set(point.evaluations()) == {"torch", "core"}
    assert point.conditioning is point.conditioning
    assert [application.op.name for application in point.applications] == ["mul"]


def test_the_core_notes_which_ops_it_applies_while_it_runs() -> None:
    point = point_of(GENERAL)
    point.evaluation(point.engines.tested[0])
    assert point.applications[0].owner == "y"


def test_a_core_that_records_nothing_leaves_the_ops_to_the_right_one() -> None:
    class Silent(Core):
        name = "silent"

        def evaluate(self, problem: Problem, *args: Any, **kwargs: Any) -> Evaluation:
            return Core().evaluate(problem)

    point = point_of(GENERAL, engines=(Silent(),))
    point.evaluation(point.engines.tested[0])
    assert [application.op.name for application in point.applications] == ["mul"]


def test_a_trial_is_drawn_until_it_is_accepted_and_kept() -> None:
    points = context_of(GENERAL).points
    seen: list[int] = []

    def third(point: Point) -> Fact | None:
        assert point.trial is not None
        seen.append(point.trial.attempt)
        return None if len(seen) == 3 else fact("all_is_nan")

    point = points.trial(0, third)
    assert isinstance(point, Point)
    assert seen == [0, 1, 2]
    assert points.trials == [point]
    assert points.at(point.trial) is point
    assert points.at(None) is points.own


def test_the_record_of_a_trial_holds_its_numbers() -> None:
    points = context_of(GENERAL).points
    point = points.trial(1, lambda found: None if found.problem.drawn.attempt >= 2 else fact("all_is_nan"))
    assert isinstance(point, Point)
    assert point.trial is not None
    assert point.trial.problem is point.problem
    assert point.trial.kind == "drawn"


def test_a_point_with_other_incoming_gradients_keeps_everything_else() -> None:
    points = context_of(
        "{inputs: {x: [1.0, 2.0]}, graph: {y: x * x}, backward: {y: [1, 1]}, formulas: {x: 2 * x}}"
    ).points
    other = points.redrawn(points.own, Variation(incoming=True), 1)
    assert other is not None
    assert other.trial is not None
    assert (other.trial.kind, other.problem.inputs["x"].tolist()) == ("incoming", [1.0, 2.0])
    assert other.problem.seeds[0]["y"] is not None
    assert other.problem.seeds[0]["y"].tolist() != [1.0, 1.0]


def test_a_branch_keeps_the_numbers_that_were_found() -> None:
    points = context_of(GENERAL).points
    point = points.branch(points.own.problem, 9)
    assert point.trial is not None
    assert (point.trial.number, point.trial.kind) == (9, "branch")
    points.others.append(point)
    assert points.elsewhere == [point]
    assert points.at(point.trial) is point


def test_sizes_that_the_graph_alone_uses_are_drawn_unless_a_claim_means_a_shape() -> None:
    text = "{{dims: {{n: 3}}, inputs: {{x: [1.0, 2.0, 3.0]}}, graph: {{y: x.sum() / n}}, formulas: {{x: {0}}}}}"
    for formula, varies in (("ones_like(x) / n * grad(y)", True), ("ones(n) / n * grad(y)", False)):
        points = context_of(text.format(formula)).points
        found = [points.trial(number, lambda point: None) for number in range(3)]
        sizes = {point.problem.sizes["n"] for point in found if isinstance(point, Point)}
        assert (sizes == {3}) is not varies


def test_what_never_fits_says_why_and_how_often_it_was_drawn() -> None:
    def never(problem: Problem) -> Fact:
        return fact("all_is_nan")

    found = draw_until(case_of(GENERAL), 0, 0, never)
    assert found == fact("no_trial", trial=1, attempts=ATTEMPTS, why=fact("all_is_nan"))


def test_sizes_that_do_not_go_together_are_drawn_again() -> None:
    case = case_of(
        """
        dims: {n: 4}
        inputs: {x: "randn(n)", w: "randn(12 // n, 2)"}
        graph: {y: "x.reshape(2, -1)[0].sum() * w.sum()"}
        """
    )
    made = draw_until(case, 0, 0, lambda problem: problem)
    assert isinstance(made, Problem)


def test_a_point_that_was_not_kept_is_an_error() -> None:
    with pytest.raises(LookupError):
        context_of(GENERAL).points.at(Trial(9, 0, {}))


def test_nearby_points_are_kept() -> None:
    points = context_of(GENERAL).points
    assert points.nearby(points.own, 0) is points.own
    assert points.nearby(points.own, 1) is points.nearby(points.own, 1)


def test_literals_are_moved_a_little_or_anywhere() -> None:
    points = context_of("{inputs: {x: [1.0, 2.0]}, graph: {y: x * x, z: y.sum()}, formulas: {x: 2 * x}}").points
    near, far = (points.redrawn(points.own, Variation(reach), 1) for reach in ("near", "anywhere"))
    for point in (near, far):
        assert point is not None
        assert point.trial is not None
        assert point.trial.kind == "moved"
        assert point.problem.inputs["x"].tolist() != [1.0, 2.0]
    assert near is not None
    assert near.problem.inputs["x"].min() > 0


def test_unseen_points_are_no_runs_and_have_other_numbers() -> None:
    points = context_of(GENERAL).points
    first, second = points.unseen(0), points.unseen(1)
    assert first is not None
    assert second is not None
    drawn = [tuple(point.problem.inputs["x"]) for point in (points.own, first, second)]
    assert len(set(drawn)) == 3
    assert points.trials == []


def test_where_no_other_point_gets_as_far_there_is_none() -> None:
    """Only 2 elements have the shape that the graph asks for."""
    points = context_of("""
        inputs: {x: [1, 2]}
        shapes: {x: [n]}
        graph: {y: "x.reshape(2, 1)", z: y.sum()}
    """).points
    assert points.own.want.states
    assert all(point is None or point.problem.sizes["n"] == 2 for point in map(points.unseen, range(5)))


def test_a_point_with_other_claims_is_not_evaluated_again() -> None:
    point = point_of(GENERAL)
    other = point.claiming(case_of(GENERAL.replace("2 * x", "3 * x")))
    assert other.want is point.want
    assert [claim.text for claim in other.problem.case.formulas["x"]] == ["3 * x * grad(y)"]
    assert other.trial == point.trial


def test_what_rounding_explains_is_measured_once_for_claims_of_the_same_steps() -> None:
    point = point_of(GENERAL)
    other = point.claiming(case_of(GENERAL.replace("2 * x", "3 * x")))
    assert other.conditioning is point.conditioning
    assert other.scope(0) is point.scope(0)
    with_a_step = case_of(GENERAL.replace("formulas:", "let: {s: 2 * x}\n    formulas:"))
    assert with_a_step.let
    assert point.claiming(with_a_step).conditioning is not point.conditioning
    assert "s" in point.claiming(with_a_step).scope(0)


def test_an_evaluation_that_has_begun_is_gone_on_with_by_its_engine_alone() -> None:
    point, plain = context_of(GENERAL).points.own, context_of(GENERAL).points.own
    reference, core = point.engines.all
    assert isinstance(point, OwnPoint)
    assert isinstance(core, Core)
    assert point.begin(core) == 6
    for engine in (reference, core):
        found, wants = point.evaluation(engine), plain.evaluation(engine)
        assert (found.engine, found.error) == (engine.name, None)
        for name, gradient in wants.states[-1].gradients.items():
            assert np.array_equal(found.states[-1].gradients[name], gradient)
    record = point.record(core)
    assert record is not None
    assert [call.op.name for call in record.calls] == ["mul"]


def test_a_record_that_is_let_go_is_none() -> None:
    own = context_of(GENERAL).points.own
    reference, core = own.engines.all
    assert isinstance(own, OwnPoint)
    assert own.record(reference) is not None
    own.asked["known", "core"] = 1
    own.let_go(reference)
    assert (own.record(reference), own.asked) == (None, {})
    assert own.record(core) is not None
