"""A formula that equals the derived one is no independent evidence, and says so where that is asked for."""

from __future__ import annotations

import pytest

from gradcheck.checks.independence import derived_claims
from gradcheck.checks.result import CaseResult
from gradcheck.language.sampling import draw
from tests.checks.conftest import Check
from tests.from_text import case_of

MATMUL = """
    dims: {{n: 2, m: 3, k: 4}}
    inputs: {{x: "randn(n, m)", w: "randn(m, k)"}}
    graph: {{y: x @ w, z: y * y + 1, loss: z.sum()}}
    {let}
    formulas: {{{name}: "{formula}"}}
    """


def noted(case: CaseResult) -> bool:
    assert case.status == "passed", [c for c in case.comparisons if c.status != "passed"]
    formulas = [c for c in case.comparisons if c.what == "formula" and c.trial is None]
    assert formulas
    assert not any(c.notes for c in case.comparisons if c.what == "formula" and c.trial)  # said once
    return any(c.has_note("equals_derived") for c in formulas)


@pytest.mark.parametrize(
    ("name", "formula"),
    [
        ("w", "x.T @ grad(y)"),
        ("w", "(grad(y).T @ x).T"),
        ("w", "einsum('nm,nk->mk', x, grad(y))"),
        ("y", "grad(z) * 2 * y"),
        ("y", "2 * y"),
        ("y", "y + y"),
        ("y", "grad(z) * y / 0.5"),
        ("z", "ones_like(z)"),
        ("z", "expand(grad(loss), z.shape)"),
        ("loss", "1"),
    ],
)
def test_the_derived_formula_in_whatever_form(check: Check, name: str, formula: str) -> None:
    assert noted(check(MATMUL.format(let="", name=name, formula=formula), derived=True))


@pytest.mark.parametrize(
    ("name", "formula"),
    [
        ("w", "stack([x.T @ grad(y)])[0]"),
        ("y", "2 * grad(z) * y + 0 * y"),
        ("y", "y * 2 * grad(z)"),  # the same factors in another order: somebody else wrote it
    ],
)
def test_another_derivation_is_evidence(check: Check, name: str, formula: str) -> None:
    assert not noted(check(MATMUL.format(let="", name=name, formula=formula), derived=True))


def test_steps_of_a_derivation_are_looked_through(check: Check) -> None:
    let = "let: {s: grad(y), t: x.T @ s}"
    assert noted(check(MATMUL.format(let=let, name="w", formula="t"), derived=True))


def test_nothing_is_said_unless_it_is_asked_for(check: Check) -> None:
    assert not noted(check(MATMUL.format(let="", name="w", formula="x.T @ grad(y)")))


def test_claims_are_told_by_tensor_and_text() -> None:
    text = "inputs: {x: [1, 2]}\ngraph: {y: (x * x).sum()}\nformulas: {x: [2 * x, x + x, 'stack([2 * x])[0]'], y: 1}\n"
    assert derived_claims(draw(case_of(text))) == {("x", "2 * x"), ("x", "x + x"), ("y", "1")}


def test_what_cannot_be_derived_equals_nothing() -> None:
    text = "inputs: {x: [1, 2]}\ngraph: {y: x * x}\nbackward: y\nformulas: {x: 2 * x}\n"
    assert derived_claims(draw(case_of(text))) == set()


@pytest.mark.parametrize("steps", ["[{backward: loss}, {backward: loss}]", "[{backward: loss}, {zero_grad: all}]"])
def test_of_several_steps_nothing_is_said(check: Check, steps: str) -> None:
    case = check(f"""
        inputs: {{x: [1, 2]}}
        graph: {{loss: (x * x).sum()}}
        steps: {steps}
        """, derived=True)  # fmt: skip
    assert not any(c.notes for c in case.comparisons)


def test_ops_with_several_results_can_be_compared(check: Check) -> None:
    case = check(
        "{dims: {n: 3, m: 2}, inputs: {x: 'randn(n, m)'}, graph: {y: 'sort(x, 1)[0]'}, backward: {y: 'randn(n, m)'},"
        " formulas: {x: 'zeros_like(x).scatter(1, sort(x, 1)[1], grad(y))'}}"
    )
    assert (case.status, case.incomplete) == ("passed", ())
