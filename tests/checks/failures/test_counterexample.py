"""Counterexamples in reports: small, in words, and only where a formula's numbers are wrong."""

from __future__ import annotations

import numpy as np

from gradcheck.checks.failures.counterexample import in_words
from gradcheck.checks.result import CaseResult
from gradcheck.oracles.numeric.counterexample import Counterexample
from tests.checks.conftest import Check


def told(case: CaseResult) -> list[str]:
    return [d["message"] for c in case.comparisons for d in c.diagnoses if d["kind"] == "counterexample"]


def test_a_wrong_formula_has_one_that_can_be_checked_with_a_pencil(check: Check) -> None:
    case = check("{inputs: {x: 'randn(4)'}, graph: {loss: (x * x).sum()}, formulas: {x: 3 * x}}")
    (message,) = told(case)
    assert message.startswith("counterexample: for x = [")
    numbers = message.split("the formula is ")[1]
    claimed, true = float(numbers.split(" ")[0]), float(numbers.split("the gradient ")[1])
    assert claimed * 2 == true * 3


def test_each_formula_has_one_however_often_it_fails(check: Check) -> None:
    case = check("{inputs: {x: 'randn(4)'}, graph: {loss: (x * x).sum()}, formulas: {x: [3 * x, x, 2 * x]}}")
    assert len(told(case)) == 2


def test_a_wrong_shape_needs_none(check: Check) -> None:
    assert not told(check("{inputs: {x: 'randn(4)'}, graph: {loss: (x * x).sum()}, formulas: {x: x.sum()}}"))


def test_a_right_formula_has_none(check: Check) -> None:
    assert not told(check("{inputs: {x: 'randn(4)'}, graph: {loss: (x * x).sum()}, formulas: {x: 2 * x}}"))


def test_large_tensors_are_not_written_out() -> None:
    shown = Counterexample({"n": 20}, {"x": np.ones(20), "y": np.array([1.0, 2.5])}, {}, {}, (3,), 4.0, 1 / 3)
    assert in_words(shown, "x") == (
        "counterexample: for x of 20 small integers, y = [1, 2.5] the formula is 4 at [3], the gradient 0.333333"
    )
