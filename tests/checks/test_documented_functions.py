"""Formulas of softplus as it is documented, and as torch computes it."""

from __future__ import annotations

import pytest

from gradcheck import run
from gradcheck.checks.documented_functions import documented_case
from gradcheck.checks.result import CaseResult
from gradcheck.reports.phrases import say
from gradcheck.reports.safe_text import plain
from tests.from_text import case_of

HEAD = "dims: {n: 4}\ninputs: {x: randn(n)}\nbackward: {y: randn(n)}\n"
DOCUMENTED, COMPUTED = "grad(y) * sigmoid(x)", "grad(y) * where(x > 20, 1, sigmoid(x))"


def checked(graph: str, claims: str) -> CaseResult:
    (found,) = run(case_of(f"{HEAD}graph: {{y: '{graph}'}}\n{claims}")).cases
    return found


def general(found: CaseResult) -> list[tuple[str, str]]:
    return list(dict.fromkeys((c.formula, c.status) for c in found.comparisons if c.what.is_general))


def test_either_function_has_a_right_formula() -> None:
    found = checked("softplus(x)", f"formulas: {{x: ['{DOCUMENTED}', '{COMPUTED}']}}")
    assert found.status == "passed"
    assert {c.formula for c in found.comparisons if c.certificate} == {DOCUMENTED, COMPUTED}
    remarked = {c.formula for c in found.comparisons for note in c.notes if note.kind == "torch_approximates"}
    assert remarked == {DOCUMENTED}


def test_neither_is_a_wrong_formula() -> None:
    found = checked("softplus(x)", f"wrong_formulas: {{x: ['{DOCUMENTED}', '{COMPUTED}', 'grad(y)']}}")
    assert general(found) == [(COMPUTED, "failed"), (DOCUMENTED, "failed"), ("grad(y)", "passed")]


@pytest.mark.parametrize("wrong", ["-grad(y) * sigmoid(x)", "grad(y) * where(x > 19, 1, sigmoid(x))"])
def test_a_wrong_formula_gets_a_correction_without_the_threshold(wrong: str) -> None:
    found = checked("softplus(x)", f"formulas: {{x: '{wrong}'}}")
    assert found.status == "failed"
    told = " ".join(plain(say(d.message)) for c in found.comparisons for d in c.diagnoses)
    assert DOCUMENTED in told
    assert "20" not in told


def test_a_threshold_that_the_graph_gives_is_meant() -> None:
    assert (DOCUMENTED, "failed") in general(checked("softplus(x, threshold=20)", f"formulas: {{x: '{DOCUMENTED}'}}"))
    case = case_of(f"{HEAD}graph: {{y: 'softplus(x, 2, 20)'}}")
    assert documented_case(case) is case
