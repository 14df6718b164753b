"""Stated gradients that rounding would excuse, and that high precision refutes."""

from __future__ import annotations

import pytest

from gradcheck.checks.claims import precise_recheck
from gradcheck.reports.phrases import say
from tests.checks.conftest import Check, failed, those

GRAPH = "inputs: {{x: {x}}}\ngraph: {{y: '{y}', loss: y.sum()}}\nexpected: {{x: {claim}}}\n"


@pytest.mark.parametrize(
    ("y", "x", "claim"),
    [
        ("silu(x)", "[1e15, 1.0]", "[1.01, 0.9276705118714867]"),
        ("silu(silu(x * x) - 1)", "[82600.0]", "[165201.0]"),
        ("tanh(log(x * 0.5))", "[1e15, 1.16e-17]", "[1.6e-44, 1.0]"),
        ("log(exp(x))", "[1e-30]", "[0.0]"),
        ("cosh(sin(x) - 1)", "[176000000.0]", "[0.0]"),
    ],
)
def test_a_wrong_number_is_not_excused(check: Check, y: str, x: str, claim: str) -> None:
    case = check(GRAPH.format(y=y, x=x, claim=claim))
    assert case.status == "failed"
    assert {say(c.verdict).partition(":")[0] for c in failed(case, "expected")} == {"the file is wrong"}


@pytest.mark.parametrize(
    ("y", "x", "claim"),
    [
        ("silu(x)", "[1e15, 1.0]", "[1.0, 0.9276705118714867]"),
        ("tanh(log(x * 0.5))", "[1e15, 1.16e-17]", "[1.6e-44, 1.16e-17]"),
        ("1 - 3 * atan(tanh(x))", "[21.2]", "[-1.2e-18]"),  # the engines' 0 is further off
        ("(x - x.mean()) / (x - x.mean()).norm()", "[1e-3, 2.0, 3e5]", "[1e-22, 0, -1e-22]"),  # all 0 but for rounding
    ],
)
def test_what_no_engine_resolves_better_passes(check: Check, y: str, x: str, claim: str) -> None:
    case = check(GRAPH.format(y=y, x=x, claim=claim))
    assert case.status == "passed"
    assert any(c.has_note("within_rounding") for c in those(case, "expected")) or "1.0, 0.9" in claim


def test_without_oracle_or_for_large_graphs_rounding_excuses(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    text = GRAPH.format(y="silu(x)", x="[1e15, 1.0]", claim="[1.01, 0.9276705118714867]")
    assert check(text, oracle="none").status == "passed"
    monkeypatch.setattr(precise_recheck, "_MOST_ELEMENTS", 3)
    assert check(text).status == "passed"


@pytest.mark.parametrize(
    ("y", "x", "right", "other"),
    [
        ("sigmoid(x)", "[40.0, 38.0]", "grad(y) * y * (1 - y)", "grad(y) / cosh(x / 2) ** 2 / 4"),
        ("tanh(x)", "[18.0, 17.0]", "grad(y) * (1 - y * y)", "grad(y) / cosh(x) ** 2"),
    ],
)
def test_a_formula_is_computed_where_rounding_hides_it(check: Check, y: str, x: str, right: str, other: str) -> None:
    head = f"inputs: {{x: {x}}}\ngraph: {{y: '{y}'}}\nbackward: {{y: [1.0, 1.0]}}\ngeneralize: false\n"
    assert check(f"{head}formulas: {{x: [{right}, {other}]}}").status == "passed"
    case = check(f"{head}formulas: {{x: 1.01 * {right}}}")
    assert case.status == "failed"
    assert {c.mismatch.kind for c in failed(case, "formula") if c.mismatch} == {"hidden_by_rounding"}
