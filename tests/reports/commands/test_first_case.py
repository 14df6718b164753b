"""The texts of first cases: each is read back as what it says."""

from __future__ import annotations

from gradcheck.checks.derivation import explain
from gradcheck.language.cookbook.case_from_expression import case_from_expression
from gradcheck.language.expr.parser import parse
from gradcheck.language.loader import load_text
from gradcheck.reports.commands.first_case import code_case, engine_case, example, formula_case

SOFTMAX = "softmax(X @ w, dim=0)"


def test_the_example_names_its_file() -> None:
    text = example("a b.yaml", "true")
    assert "gradcheck run 'a b.yaml'" in text
    (case,), errors = load_text(text, "a b.yaml")
    assert not errors
    assert list(case.formulas) == ["w", "r"]


def test_a_formula_has_its_derived_gradients() -> None:
    derived = explain(case_from_expression(SOFTMAX, parse(SOFTMAX), {}))
    (case,), errors = load_text(formula_case(derived, "yes", "gradcheck run c.yaml"), "c.yaml")
    assert not errors
    assert (case.name, list(case.formulas), list(case.steps[0].roots)) == ("yes", ["X", "w"], ["f"])
    assert case.graph["f"].text == SOFTMAX


def test_code_is_named_beside_what_it_computes() -> None:
    found = case_from_expression(SOFTMAX, parse(SOFTMAX), {"X": ["4", "m"]})
    (case,), errors = load_text(code_case(found, "c", "gradcheck run", "k.py:F.apply"), "c.yaml")
    assert not errors
    (code,) = case.implementations
    assert (code.entry, case.dims.keys()) == ("f", {"m"})


def test_a_case_for_a_class_states_numbers() -> None:
    (case,), errors = load_text(engine_case("true", "gradcheck run"), "c.yaml")
    assert not errors
    assert (case.name, case.graph.keys()) == ("true", {"y", "z"})
