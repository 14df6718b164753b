"""Derivations that are to be refuted, point by point."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gradcheck.checks.claims.wrong_formulas import WrongFormula, try_to_refute
from gradcheck.checks.points.point import Point
from gradcheck.checks.result import Trial
from tests.checks.build import context_of


def attempted(formula: str) -> WrongFormula:
    context = context_of(
        f"{{inputs: {{x: [1.0, 2.0]}}, graph: {{loss: (x * x).sum()}}, wrong_formulas: {{x: {formula}}}}}"
    )
    one = WrongFormula("x", context.case.wrong_formulas["x"][0])
    try_to_refute([one], context.points.own, None)
    return one


def test_one_that_differs_is_refuted() -> None:
    assert attempted("3 * x").verdict().status == "passed"


def test_one_that_holds_everywhere_fails_the_case() -> None:
    one = attempted("2 * x")
    assert one.points_held == 1
    assert one.verdict().status == "failed"


def test_one_that_is_only_undefined_at_drawn_numbers_is_not_refuted_by_them() -> None:
    context = context_of(
        """
        inputs: {x: [1.0, 2.0]}
        graph: {loss: (x * x).sum()}
        wrong_formulas: {x: [2 * x * x / x, 3 * x * x / x]}
        """
    )
    point = context.points.own
    zero = replace(point.problem, inputs={"x": np.zeros(2)})
    drawn = Point(zero, point.engines, Trial(1, 0, {}))
    right, wrong = (WrongFormula("x", claim) for claim in context.case.wrong_formulas["x"])
    try_to_refute([right, wrong], drawn, None)
    assert (right.refutation, right.points_held) == (None, 0)
    try_to_refute([right, wrong], point, None)
    assert (right.verdict().status, wrong.verdict().status) == ("failed", "passed")
    own = WrongFormula("x", context.case.wrong_formulas["x"][0])
    try_to_refute([own], Point(zero, point.engines), None)
    assert own.verdict().status == "passed"  # the file itself has chosen such numbers
