"""Mutants of formulas and of the steps that they are derived in: what catches them, and which are none."""

from __future__ import annotations

import pytest

from gradcheck.checks.mutation.formula_mutants import evidence, formula_mutants
from gradcheck.checks.mutation.point_set import PointSet
from gradcheck.checks.options import Options, engines_of
from gradcheck.checks.power import Mutant
from tests.from_text import case_of


def points_of(text: str) -> PointSet:
    options = Options()
    return PointSet(case_of(text), options, engines_of(options))


def mutants(text: str) -> list[Mutant]:
    return [mutant for mutant in formula_mutants(points_of(text)) if mutant is not None]


def survivors(found: list[Mutant]) -> list[Mutant]:
    return [mutant for mutant in found if not mutant.caught_by]


def kinds(found: list[Mutant]) -> set[str]:
    return {mutant.kind.kind for mutant in found}


def test_mistakes_in_formulas_are_caught() -> None:
    found = mutants("""
        dims: {n: 2, m: 3, k: 4}
        inputs: {x: "randn(n, m)", w: "randn(m, k)"}
        graph: {y: x @ w, loss: (y * y).sum()}
        formulas:
          w: x.T @ grad(y)
          x: 2 * (x @ w) @ w.T
    """)
    assert survivors(found) == []
    assert kinds(found) >= {"transpose_removed", "factors_exchanged", "sign_changed", "factor_added", "op_swapped"}
    assert {mutant.where["tensor"] for mutant in found} == {"w", "x"}


def test_what_these_sizes_hide_shows_in_a_trial() -> None:
    """Multiplied or divided by 1 is all the same."""
    found = mutants("""
        dims: {n: 1}
        inputs: {x: "randn(n, 2)"}
        graph: {loss: "(x * x).sum() * x.shape[0]"}
        formulas: {x: "2 * x * x.shape[0]"}
        generalize: {trials: 2, dims: {n: [3, 4]}}
    """)
    assert {m.caught_by for m in found if str(m.where["formula"]).endswith("x.shape[1]")} == {"formula"}
    assert {m.caught_by for m in found if m.where["formula"] == "2 * x / x.shape[0]"} == {"trial"}


def test_a_mistake_that_one_point_cannot_tell_is_refuted_by_proof_where_that_is_possible() -> None:
    """At 1, any power will do, and nothing is drawn afresh."""
    found = mutants("{inputs: {x: 1}, graph: {y: x ** 3}, formulas: {x: 3 * x ** 2}}")
    assert survivors(found) == []
    assert kinds([m for m in found if m.caught_by == "proof"]) == {"power_changed", "op_swapped"}


def test_a_mistake_that_neither_one_point_nor_a_proof_can_tell_survives() -> None:
    found = mutants(
        "{inputs: {x: 1}, graph: {y: erf(x) + x ** 3}, formulas: {x: '3 * x ** 2 + 2 * exp(-x * x) / pi ** 0.5'}}"
    )
    assert "power_changed" in kinds(survivors(found))


def test_mistakes_in_steps_count_too() -> None:
    found = mutants("""
        dims: {n: 2, m: 3}
        inputs: {x: "randn(n, m)", w: "randn(m, n)"}
        graph: {y: x @ w, loss: (y * y).sum()}
        let: {g: 2 * x @ w, idle: x + 1}
        formulas: {w: x.T @ g}
    """)
    assert survivors(found) == []
    assert {mutant.where["name"] for mutant in found if mutant.where.kind == "in_step"} == {"g"}


def test_without_formulas_and_checks_steps_lead_nowhere() -> None:
    assert mutants("{inputs: {x: [1, 2]}, graph: {y: x.sum()}, let: {g: 2 * x}}") == []


def test_a_mistake_that_changes_no_number_is_none() -> None:
    found = mutants("{inputs: {x: 'randn(3)'}, graph: {y: (x * x).sum()}, formulas: {x: 'x + (x.T).T'}}")
    assert not any("transpose" in mutant.kind.kind for mutant in survivors(found))


@pytest.mark.parametrize(("formula", "expected"), [("3 * x", "formula"), ("2 * x", None)])
def test_a_formula_is_wrong_or_not(formula: str, expected: str | None) -> None:
    text = "{{inputs: {{x: [1, 2]}}, graph: {{y: (x * x).sum()}}, formulas: {{x: {0}}}}}"
    points = points_of(text.format("2 * x"))
    assert evidence(points, case_of(text.format(formula))) == expected


def test_the_smallest_factor_is_one_that_the_tolerance_lets_show() -> None:
    found = mutants("{inputs: {x: [1, 2]}, graph: {y: x.sum()}, formulas: {x: ones(2)}, tolerance: {rtol: 0.01}}")
    factors = {mutant.kind["factor"] for mutant in found if mutant.kind.kind == "factor_added"}
    assert max(factors - {2.0}) > 1.1
