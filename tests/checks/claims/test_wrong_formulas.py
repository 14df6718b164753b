"""Derivations that are to be refuted, point by point."""

from __future__ import annotations

from gradcheck.checks.claims.wrong_formulas import WrongFormula, try_to_refute
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
    assert one.held == 1
    assert one.verdict().status == "failed"
