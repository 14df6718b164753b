"""Formulas derived by hand, at one point, against the reference's gradients."""

from __future__ import annotations

import pytest

from gradcheck.reports.phrases import say
from tests.checks.conftest import Check, failed, those


def test_a_formula_that_is_right_and_one_that_is_wrong(check: Check) -> None:
    case = check(
        """
        inputs: {x: "randn(3, 2)", w: "randn(2, 4)"}
        graph: {loss: (x @ w).sum()}
        formulas:
          x:
            - torch.ones([x.shape[0], 1]) @ w.sum(dim=1, keepdim=True).T
            - w.sum(dim=1) * 1.0001 + 0 * x
        """
    )
    assert case.status == "failed"
    wrong = failed(case)
    assert {c.place.line for c in wrong} == {7}
    assert wrong[0].formula.startswith("w.sum(dim=1) * 1.0001")
    assert (wrong[0].engine, wrong[0].reference) == ("case", "torch")


def test_a_formula_has_its_tensors_shape_without_broadcasting(check: Check) -> None:
    case = check(
        """
        inputs: {x: "randn(3, 2)"}
        graph: {loss: x.sum()}
        formulas: {x: "ones(2)"}
        """
    )
    assert "shape [2], expected [3, 2]" in say(failed(case)[0].mismatch)


def test_a_formula_that_cannot_be_evaluated_has_failed_and_says_why(check: Check) -> None:
    case = check(
        """
        inputs: {x: "randn(3, 2)"}
        graph: {loss: x.sum()}
        formulas:
          x: x @ x
        """
    )
    assert case.status == "failed"
    mismatch = failed(case)[0].mismatch
    assert mismatch is not None
    assert mismatch["error"] == "shape_mismatch"
    assert say(mismatch) == "x of shape [3, 2] and x of shape [3, 2] cannot be multiplied: 2 columns, 3 rows"
    assert failed(case)[0].place.line == 5


def test_let_names_steps_of_a_derivation(check: Check) -> None:
    case = check(
        """
        inputs: {x: "randn(3)"}
        graph: {h: tanh(x), loss: (h * h).sum()}
        let: {dh: 2 * h, slope: 1 - h ** 2}
        formulas: {x: dh * slope, h: dh}
        checks: [grad(h) == dh, "grad(x) == grad(h) * slope"]
        """
    )
    assert case.status == "passed"
    assert len(those(case, "formula")) >= 2


@pytest.mark.parametrize(
    ("x", "graph", "formula"),
    [
        ("[1.0e-120, 2.0e-120]", "linalg.vector_norm(x, 3)", "x * abs(x) / linalg.vector_norm(x, 3) ** 2"),
        ("[-800, -801]", "log(exp(x).sum())", "softmax(x, 0)"),
    ],
)
def test_where_all_underflows_a_right_formula_is_none_the_worse(check: Check, x: str, graph: str, formula: str) -> None:
    stated = f"inputs: {{x: {x}}}, graph: {{y: '{graph}'}}"
    assert check(f"{{{stated}, formulas: {{x: '{formula}'}}}}").status == "passed"
    assert check(f"{{{stated}, formulas: {{x: '2 * {formula}'}}}}", corrected=False).status == "failed"
