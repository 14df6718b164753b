"""Points: what engines make of a problem is computed once, and records belong to their engines."""

from __future__ import annotations

from typing import Any

from gradcheck.engines.base import Evaluation
from gradcheck.engines.core import Core
from gradcheck.language.problem import Problem
from tests.checks.build import GENERAL, point_of
from tests.from_text import case_of


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


def test_a_point_with_other_claims_is_not_evaluated_again() -> None:
    point = point_of(GENERAL)
    other = point.with_claims(case_of(GENERAL.replace("2 * x", "3 * x")))
    assert other.want is point.want
    assert [claim.text for claim in other.problem.case.formulas["x"]] == ["3 * x * grad(y)"]
    assert other.trial == point.trial


def test_what_rounding_explains_is_measured_once_for_claims_of_the_same_steps() -> None:
    point = point_of(GENERAL)
    other = point.with_claims(case_of(GENERAL.replace("2 * x", "3 * x")))
    assert other.conditioning is point.conditioning
    assert other.scope(0) is point.scope(0)
    with_a_step = case_of(GENERAL.replace("formulas:", "let: {s: 2 * x}\n    formulas:"))
    assert with_a_step.let
    assert point.with_claims(with_a_step).conditioning is not point.conditioning
    assert "s" in point.with_claims(with_a_step).scope(0)
