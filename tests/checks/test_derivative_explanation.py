"""Jacobians and Hessians as formulas."""

from __future__ import annotations

import pytest

from gradcheck.checks.derivative_explanation import explain_derivative
from gradcheck.errors import InvalidCase
from gradcheck.language.expr.nodes import Derivative
from gradcheck.language.expr.printer import to_text
from gradcheck.reports.commands.explanation import render_derivative
from tests.from_text import case_of

LOGISTIC = """
    dims: {n: 5, d: 3}
    inputs: {w: randn(d), b: randn(d)}
    constants: {X: "randn(n, d)", t: "rand(n)"}
    graph:
      z: X @ (w + b)
      s: sigmoid(z)
      m: outer(s, w)
      c: cumsum(w, 0)
      loss: -(t * log(s) + (1 - t) * log(1 - s)).sum() / n
"""


@pytest.mark.parametrize(
    ("tensors", "written"),
    [
        (("jacobian", "s", "w"), "diag((1 - s) * s) @ X"),
        (("jacobian", "z", "b"), "X"),
        (("jacobian", "s", "s"), "eye(n)"),
        (("jacobian", "w", "b"), "zeros(d, d)"),
        (("jacobian", "m", "b"), "einsum('i,ik,j->ijk', (1 - s) * s, X, w)"),
        (("hessian", "loss", "w"), "X.T @ diag((1 - s) * s) @ X / n"),
        (("hessian", "loss", "w", "b"), "X.T @ diag((1 - s) * s) @ X / n"),
    ],
)
def test_they_are_short_and_proved(tensors: tuple[str, ...], written: str) -> None:
    kind, *names = tensors
    found = explain_derivative(case_of(LOGISTIC), Derivative.of(kind, *names))
    assert found.expr is not None
    assert to_text(found.expr) == written
    assert found.proof or written.startswith("zeros")


def test_one_without_a_formula_says_why() -> None:
    found = explain_derivative(case_of(LOGISTIC), Derivative.of("jacobian", "c", "w"))
    assert found.expr is None
    assert "no formula of jacobian" in render_derivative(found, "text")


def test_unknown_tensors_are_errors() -> None:
    with pytest.raises(InvalidCase, match="no tensor q"):
        explain_derivative(case_of(LOGISTIC), Derivative.of("jacobian", "s", "q"))


def test_it_is_written_for_a_file_and_for_a_paper() -> None:
    found = explain_derivative(case_of(LOGISTIC), Derivative.of("hessian", "loss", "w", "b"))
    assert "hessians:\n  loss:\n    w, b: X.T @ diag(" in render_derivative(found, "yaml")
    assert r"\frac{\partial^2 \mathrm{loss}}{\partial w\,\partial b} &= " in render_derivative(found, "latex")
    assert "proved for any values" in " ".join(render_derivative(found, "text").split())
