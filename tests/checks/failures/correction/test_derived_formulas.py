"""What the rules of differentiation give, derived once for all that a case's failures ask for."""

from __future__ import annotations

import pytest

from gradcheck.checks.failures.correction import derived_formulas
from gradcheck.checks.failures.correction.derived_formulas import DerivedFormulas, with_named_numbers
from gradcheck.language.expr.parser import parse
from gradcheck.language.expr.printer import to_text
from tests.checks.conftest import Check, failed
from tests.from_text import case_of

LOSS = "{inputs: {x: randn(3)}, graph: {y: x * x, loss: tanh(y).sum()}%s}"


def test_by_way_of_other_gradients_and_by_inputs_alone() -> None:
    of = DerivedFormulas(case_of(LOSS % ""))
    assert [to_text(expr) for expr in of.of("x")] == ["2 * grad(y) * x", "2 * (1 - tanh(y) ** 2) * x"]
    assert of.of("z") == of.without_shared_steps("z") == []


def test_large_graphs_are_not_derived(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(derived_formulas, "MAX_GRAPH", 3)
    assert DerivedFormulas(case_of(LOSS % "")).of("x") == []


def test_steps_and_formulas_that_are_wrong_share_them(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []
    explain = derived_formulas.explain
    monkeypatch.setattr(
        derived_formulas, "explain", lambda *a, expand: asked.append(expand) or explain(*a, expand=expand)
    )
    found = check(LOSS % ", let: {d: 1 - tanh(y)}, formulas: {x: 3 * x * d}")
    assert failed(found, "formula")
    assert asked == [False, True]


@pytest.mark.parametrize(("name", "formula"), [("y", "pi * x / sqrt(2 * pi)"), ("pi", "3.141592653589793 * x / 2.5")])
def test_numbers_have_names_unless_a_tensor_is_called_pi(name: str, formula: str) -> None:
    case = case_of(f"{{inputs: {{x: 0.3}}, graph: {{{name}: sin(x)}}}}")
    expr = parse("3.141592653589793 * x / 2.5066282746310002 + 0.6931471805599453")
    assert to_text(with_named_numbers(expr, case)).startswith(formula)


def test_roots_in_rules_have_names() -> None:
    expr = parse("1.1283791670955126 * x / 1.4142135623730951 + 1.7320508075688772")
    assert to_text(with_named_numbers(expr, case_of(LOSS % ""))) == "2 / sqrt(pi) * x / sqrt(2) + sqrt(3)"
