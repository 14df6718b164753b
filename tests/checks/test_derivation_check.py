"""Formulas held to what the core computes, to the exact oracle, and at corners."""

from __future__ import annotations

import pytest

from gradcheck.checks import derivation_check
from gradcheck.checks.derivation_check import DerivationCheck, GradientForm
from gradcheck.checks.options import Engines
from gradcheck.checks.points.point import Point
from gradcheck.checks.single_backward import BackwardPoints
from gradcheck.engines.core import Core
from gradcheck.facts import Fact, fact
from gradcheck.language.expr.common_subexpressions import Derivation
from gradcheck.language.expr.parser import parse
from gradcheck.language.sampling import draw
from gradcheck.oracles.exact.prove import Proof
from tests.from_text import case_of

NORM = "{dims: {n: 4}, inputs: {x: 'randn(n)'}, graph: {f: norm(x)}}"
RELU = "{dims: {n: 4}, inputs: {x: 'randn(n)'}, graph: {f: relu(x).sum()}}"


def judged(text: str, formula: str, *nonzero: str, raw: bool = False) -> DerivationCheck:
    passes = BackwardPoints.of(Point(draw(case_of(text)), Engines((), Core())), 0)
    assert not isinstance(passes, Fact)
    way = GradientForm(parse(formula), tuple(map(parse, nonzero)), raw)
    return DerivationCheck(passes, Derivation({}, {"x": way.expr}), {"x": way})


@pytest.mark.parametrize(
    ("text", "formula", "holds"),
    [
        (NORM, "x / where(f == 0, 1, f)", True),
        (NORM, "x * f", False),
        (RELU, "where(x <= 0, 0, ones_like(x))", True),
        (RELU, "where(x < 0, 0, ones_like(x))", False),  # at a corner
    ],
)
def test_what_holds_everywhere(text: str, formula: str, holds: bool) -> None:
    assert judged(text, formula).holds("x") is holds


def test_what_is_undefined_at_a_corner_must_say_so() -> None:
    assert not judged(NORM, "x / f").holds("x")
    assert judged(NORM, "x / f", "f").holds("x")
    found = judged(NORM, "x / f", "f")
    assert found.point_count("x") == 4
    assert (found.proof_bound("x") or 1) < 1e-15


def test_a_condition_needs_a_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(derivation_check, "prove", lambda problem, claims: [Proof("unsupported") for _ in claims])
    assert not judged(NORM, "x / f", "f").holds("x")
    assert judged(NORM, "x / where(f == 0, 1, f)").holds("x")


def test_what_is_refuted_does_not_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(derivation_check, "prove", lambda problem, claims: [Proof("refuted") for _ in claims])
    found = judged(RELU, "where(x <= 0, 0, ones_like(x))")
    assert not found.holds("x")
    assert not found.may_be_case_specific("x")
    assert found.why_not("x") == fact("derived_is_refuted", tensor="x")


def test_a_formula_as_it_was_derived_is_not_looked_at_in_corners() -> None:
    assert judged(RELU, "where(x < 0, 0, ones_like(x))", raw=True).holds("x")


def test_rounding_may_leave_open_what_is_proved() -> None:
    """The inverse of an inverse of squares: the formula is more precise than the core's gradient."""
    text = "{dims: {n: 10}, inputs: {x: 'randn(n, n)'}, graph: {f: logdet(inv(x @ x.T))}}"
    assert judged(text, "-2 * inv(x @ x.T) @ x").holds("x")


def test_a_condition_that_is_not_told_is_found_at_a_corner() -> None:
    """A guard that is lost on the way costs the simplification, and nothing else."""
    found = judged(NORM, "x / norm(x)")
    assert found.point_count("x") == 4
    assert not found.holds("x")
