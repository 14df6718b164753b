"""Counterexamples: small, as plain data, and only where a formula's numbers are wrong."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.checks.failures import counterexample
from gradcheck.checks.failures.counterexample import as_fact
from gradcheck.checks.result import CaseResult
from gradcheck.facts import Fact
from gradcheck.oracles.numeric.counterexample import Counterexample
from gradcheck.reports.phrases import say
from tests.checks.conftest import Check

SQUARES = "{inputs: {x: 'randn(4)'}, graph: {loss: (x * x).sum()}, formulas: {x: %s}}"


def told(case: CaseResult) -> list[Fact]:
    return [d.message for c in case.comparisons for d in c.diagnoses if d.kind == "counterexample"]


def test_a_wrong_formula_has_one_that_can_be_checked_with_a_pencil(check: Check) -> None:
    (shown,) = told(check(SQUARES % "3 * x"))
    assert say(shown).startswith("counterexample: for x = [")
    assert shown["claimed"] * 2 == shown["true"] * 3
    (((name, values),), (index,)) = shown["given"], shown["index"]
    assert name == "x"
    assert shown["true"] == 2 * values[index]


def test_each_formula_has_one_however_often_it_fails(check: Check) -> None:
    assert len(told(check(SQUARES % "[3 * x, x, 2 * x]"))) == 2


def test_the_work_for_all_formulas_is_bounded(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    formulas = ", ".join(f"{factor} * x" for factor in range(3, 9))
    assert len(told(check(SQUARES % f"[{formulas}]"))) == 6
    monkeypatch.setattr(counterexample, "ALL_WORK", 1)
    assert len(told(check(SQUARES % f"[{formulas}]"))) < 6


def test_a_wrong_shape_needs_none(check: Check) -> None:
    assert not told(check(SQUARES % "x.sum()"))
    assert not told(check(SQUARES % "'x @ ones(3)'"))


def test_a_right_formula_has_none(check: Check) -> None:
    assert not told(check(SQUARES % "2 * x"))


def test_it_is_plain_data() -> None:
    shown = Counterexample({"n": 2}, {"x": np.array([[1.0], [2.5]])}, {"k": np.array(3)}, {}, (0, 0), 4.0, 1 / 3)
    found = as_fact(shown, "x")
    assert found["given"] == (("x", ((1.0,), (2.5,))), ("k", 3))
    assert (found["index"], found["claimed"], found["true"]) == ((0, 0), 4.0, 1 / 3)
    assert (found["tensor"], found["sizes"], found["incoming"]) == ("x", (("n", 2),), ())
    assert hash(found) == hash(as_fact(shown, "x"))
