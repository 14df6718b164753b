"""The incoming gradients that a case leaves out."""

from __future__ import annotations

from dataclasses import replace

from gradcheck.language.case import Case, Implementation
from gradcheck.language.expr.parser import parse
from gradcheck.language.implied_cotangents import with_implied_cotangents
from gradcheck.language.sampling import draw
from tests.from_text import case_of


def naming_code(text: str) -> Case:
    return replace(case_of(text), implementations=(Implementation("y", "f"),))


def test_a_case_without_a_backward_pass_gets_one() -> None:
    case = naming_code('inputs: {x: "randn(2, 3)"}\ngraph: {y: "x * 2"}')
    assert draw(with_implied_cotangents(case, None)).seeds[0]["y"] is not None
    scalar = naming_code('inputs: {x: "randn(2, 3)"}\ngraph: {y: "x.sum()"}')
    assert with_implied_cotangents(scalar, None) is scalar
    several = naming_code('inputs: {x: "randn(2, 3)"}\ngraph: {y: "var_mean(x, dim=1)"}')
    assert list(with_implied_cotangents(several, None).steps[0].roots) == ["y[0]", "y[1]"]


def test_a_pass_of_a_case_of_jacobians_starts_from_random_numbers() -> None:
    case = case_of("inputs: {x: randn(3)}\ngraph: {y: exp(x)}\njacobians: {y: {x: diag(y)}}\n")
    (step,) = with_implied_cotangents(case, None).steps
    (incoming,) = step.roots.values()
    assert incoming is not None
    assert incoming.expr == parse("randn_like(y)")
    scalar = case_of("inputs: {x: randn(3)}\ngraph: {y: exp(x).sum()}\njacobians: {y: {x: exp(x)}}\n")
    assert with_implied_cotangents(scalar, None) is scalar
    stated = case_of("inputs: {x: randn(3)}\ngraph: {y: exp(x)}\nbackward: y\njacobians: {y: {x: diag(y)}}\n")
    assert with_implied_cotangents(stated, None) is stated
