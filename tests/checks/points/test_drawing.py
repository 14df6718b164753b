"""Points: drawn again until they say something, kept, and found again from their record."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gradcheck.checks.points.drawing import (
    ATTEMPTS,
    HIGH,
    LOW,
    draw_until,
    literal_of_size,
    pinned_sizes,
    scaled_problem,
    structural_sizes,
    stuck_sizes,
    varied_problem,
    what_stays,
)
from gradcheck.checks.points.point import Point
from gradcheck.checks.result import Trial
from gradcheck.facts import Fact, fact
from gradcheck.language.problem import Problem
from gradcheck.language.trial_draws import Variation
from tests.checks.build import GENERAL, context_of, point_of
from tests.checks.conftest import Check
from tests.from_text import case_of
from tests.from_text import problem_from as problem_of


def test_a_size_that_a_literal_pins_is_stuck_and_the_others_are_free() -> None:
    problem = problem_of("""
        dims: {n: 3, m: 2}
        inputs: {x: "randn(n, m)"}
        constants: {y: [1.0, 2.0, 3.0]}
        graph: {z: (x.T @ y).sum()}
    """)
    assert stuck_sizes(problem) == {"n"}
    assert literal_of_size(problem.case, 3) == "y"
    assert literal_of_size(problem.case, 2) == ""
    assert pinned_sizes(problem) == {"n"}


def test_a_size_that_must_be_even_is_not_stuck() -> None:
    problem = problem_of("{dims: {n: 4}, inputs: {x: randn(n)}, graph: {z: 'x.reshape(n // 2, 2).sum()'}}")
    assert stuck_sizes(problem) == set()


def test_an_exponent_is_free_and_what_a_claim_means_as_a_shape_is_not() -> None:
    problem = problem_of("""
        dims: {k: 2, n: 3}
        inputs: {x: [1.0, 2.0, 3.0]}
        graph: {y: (x ** k).sum() / n}
    """)

    def fits(changed: Problem) -> bool:
        return changed.sizes["n"] == 3

    assert structural_sizes(problem, fits) == {"n"}
    assert structural_sizes(problem, lambda changed: True) == set()


def test_bounds_that_a_case_states_are_kept() -> None:
    case = case_of("""
        dims: {n: 3}
        inputs: {x: randn(n)}
        graph: {y: x.sum()}
        formulas: {x: ones(n)}
        generalize: {dims: {n: [3, 3]}}
    """)
    from gradcheck.language.sampling import draw

    assert stuck_sizes(draw(case)) == {"n"}  # nothing else is allowed


def test_sizes_that_no_trial_changes_are_told_with_the_tensor_that_pins_them() -> None:
    own = problem_of("""
        dims: {n: 3, m: 2}
        inputs: {x: "randn(n, m)"}
        constants: {y: [1.0, 2.0, 3.0]}
        graph: {z: (x.T @ y).sum()}
    """)
    other = replace(own, sizes={"n": 3, "m": 5})
    assert what_stays(own, []) == []
    assert what_stays(own, [own, other]) == [fact("size_stays", size="n", value=3, tensor="y")]


def test_inputs_that_nothing_is_drawn_for_are_told() -> None:
    own = problem_of("""
        dims: {n: 3}
        inputs: {x: zeros(n), y: 'randn(n)', z: 2 * y, w: [1.0, 2.0, 3.0], v: w + ones(n)}
        graph: {u: (x * y + z * w + v).sum()}
    """)
    stays = [note["tensor"] for note in what_stays(own, [own]) if note.kind == "input_stays"]
    assert stays == ["x"]


def test_sizes_whose_tensors_are_too_large_are_not_drawn(check: Check) -> None:
    """A trial of 9000 x 9000 numbers takes gigabytes, with all that two engines keep of it."""
    case = check("""
        dims: {n: 4}
        inputs: {x: randn(n)}
        graph: {y: "x[:, None] * x", z: "y.sum(dim=0)"}
        backward: {z: randn(n)}
        formulas: {y: "grad(z) * ones(n, n)"}
        generalize: {dims: {n: [5000, 9000]}}
    """)
    assert case.status == "passed"
    assert {c.trial.sizes["n"] for c in case.comparisons if c.trial is not None} == {4}
    stays = fact("size_stays_small", size="n", value=4, most=4_000_000)
    assert all(stays in c.notes for c in case.comparisons if c.formula and c.trial is None)


def test_nearby_every_number_is_scaled_by_its_own_and_zeros_stay() -> None:
    own = point_of("{inputs: {x: [0.0, 2.0, -4.0]}, constants: {k: [1, 2, 3]}, graph: {y: (x * k).sum()}}").problem
    near = scaled_problem(own, 1)
    ratios = near.inputs["x"][1:] / own.inputs["x"][1:]
    assert near.inputs["x"][0] == 0
    assert np.all((ratios >= LOW) & (ratios <= HIGH))
    assert ratios[0] != ratios[1]
    assert near.constants["k"].tolist() == [1, 2, 3]
    assert scaled_problem(own, 1).inputs["x"].tolist() == near.inputs["x"].tolist()
    assert scaled_problem(own, 2).inputs["x"].tolist() != near.inputs["x"].tolist()


def test_varied_numbers_keep_their_signs_and_what_is_made_stays_as_it_is() -> None:
    own = point_of("""
        inputs: {a: "randn(3, 3)", s: a @ a.T, x: [[1, 0], [-2, 3]]}
        graph: {y: (s @ s).sum() + x.sum() + a.sum()}
        backward: {y: 2}
    """).problem
    other = varied_problem(own, np.random.default_rng(0))
    np.testing.assert_array_equal(other.inputs["s"], own.inputs["s"])
    assert (np.sign(other.inputs["x"][[0, 1, 1], [0, 0, 1]]) == [1, -1, 1]).all()
    assert not (other.inputs["x"] == own.inputs["x"]).any()
    assert not np.array_equal(np.asarray(other.seeds[0]["y"]), np.asarray(own.seeds[0]["y"]))


def test_a_trial_is_drawn_until_it_is_accepted_and_kept() -> None:
    points = context_of(GENERAL).points
    seen: list[int] = []

    def third(point: Point) -> Fact | None:
        assert point.trial is not None
        seen.append(point.trial.attempt)
        return None if len(seen) == 3 else fact("all_is_nan")

    point = points.draw_trial(0, third)
    assert isinstance(point, Point)
    assert seen == [0, 1, 2]
    assert points.trials == [point]
    assert points.at(point.trial) is point
    assert points.at(None) is points.own


def test_the_record_of_a_trial_holds_its_numbers() -> None:
    points = context_of(GENERAL).points
    point = points.draw_trial(1, lambda found: None if found.problem.draw_settings.attempt >= 2 else fact("all_is_nan"))
    assert isinstance(point, Point)
    assert point.trial is not None
    assert point.trial.problem is point.problem
    assert point.trial.kind == "drawn"


def test_a_point_with_other_incoming_gradients_keeps_everything_else() -> None:
    points = context_of(
        "{inputs: {x: [1.0, 2.0]}, graph: {y: x * x}, backward: {y: [1, 1]}, formulas: {x: 2 * x}}"
    ).points
    other = points.redraw(points.own, Variation(incoming=True), 1)
    assert other is not None
    assert other.trial is not None
    assert (other.trial.kind, other.problem.inputs["x"].tolist()) == ("incoming", [1.0, 2.0])
    assert other.problem.seeds[0]["y"] is not None
    assert other.problem.seeds[0]["y"].tolist() != [1.0, 1.0]


def test_a_branch_keeps_the_numbers_that_were_found() -> None:
    points = context_of(GENERAL).points
    point = points.branch_point(points.own.problem, 9)
    assert point.trial is not None
    assert (point.trial.number, point.trial.kind) == (9, "branch")
    points.variants.append(point)
    assert points.other_points == [point]
    assert points.at(point.trial) is point


def test_sizes_that_the_graph_alone_uses_are_drawn_unless_a_claim_means_a_shape() -> None:
    text = "{{dims: {{n: 3}}, inputs: {{x: [1.0, 2.0, 3.0]}}, graph: {{y: x.sum() / n}}, formulas: {{x: {0}}}}}"
    for formula, varies in (("ones_like(x) / n * grad(y)", True), ("ones(n) / n * grad(y)", False)):
        points = context_of(text.format(formula)).points
        found = [points.draw_trial(number, lambda point: None) for number in range(3)]
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
    assert points.nearby_point(points.own, 0) is points.own
    assert points.nearby_point(points.own, 1) is points.nearby_point(points.own, 1)


def test_literals_are_moved_a_little_or_anywhere() -> None:
    points = context_of("{inputs: {x: [1.0, 2.0]}, graph: {y: x * x, z: y.sum()}, formulas: {x: 2 * x}}").points
    near, far = (points.redraw(points.own, Variation(reach), 1) for reach in ("near", "anywhere"))
    for point in (near, far):
        assert point is not None
        assert point.trial is not None
        assert point.trial.kind == "moved"
        assert point.problem.inputs["x"].tolist() != [1.0, 2.0]
    assert near is not None
    assert near.problem.inputs["x"].min() > 0


def test_unseen_points_are_no_runs_and_have_other_numbers() -> None:
    points = context_of(GENERAL).points
    first, second = points.unseen_point(0), points.unseen_point(1)
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
    assert all(point is None or point.problem.sizes["n"] == 2 for point in map(points.unseen_point, range(5)))
