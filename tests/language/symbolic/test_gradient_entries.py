"""Gradients as entries of a graph."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.checks.derivative_explanation import explain_derivative
from gradcheck.engines.core import Core
from gradcheck.language.expr.nodes import Derivative
from gradcheck.language.expr.printer import to_text
from gradcheck.language.problem import Problem
from gradcheck.language.sampling import draw
from gradcheck.language.symbolic.gradient_entries import gradients_of, with_gradients
from tests.from_text import case_of, problem_from

TEXT = """
    inputs: {x: [1.0, 2.0], w: 3.0, d_f_d_x: 1.0}
    graph: {a: x * w, b: a * a, f: b.sum(), m: "max(x, dim=0)"}
"""
GRAPH = """
    inputs: {q: [0.3, 0.5, -0.2], u: [1.0, 2, 3], v: [0.5, -1, 2], w: "randn(7)"}
    constants: {W: [[1.0, 2], [3, 4]]}
    graph:
      t: "cumsum(q, 0)"
      p: "stack([cos(t).sum(), q[0] * t[2]])"
      c: "linalg.cross(u, v)"
      y: "cat([u[:1], u[1:] * exp(W @ v[:2])])"
      big: "cumsum(w, 0)"
"""


def values_of(problem: Problem) -> dict[str, np.ndarray]:
    return dict(Core().evaluate(problem).states[0].values)


def test_they_equal_the_gradients() -> None:
    problem = problem_from(TEXT)
    case, names = with_gradients(problem.case, problem, "f", ["x", "m[0]"])
    found = values_of(draw(case))
    np.testing.assert_array_equal(found[names["x"]], [18, 36])
    np.testing.assert_array_equal(found[names["m[0]"]], 0.0)
    assert names["x"] == "d_f_d_x_"


def test_those_come_first_that_others_use() -> None:
    assert list(gradients_of(problem_from(TEXT), "f", ["x"])) == ["f", "b", "a", "x"]


@pytest.mark.parametrize(
    ("of", "by", "written"),
    [
        ("t", "q", "tensor([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [1.0, 1.0, 1.0]])"),
        ("c", "u", "tensor([[0.0, v[2], -v[1]], [-v[2], 0.0, v[0]], [v[1], -v[0], 0.0]])"),
        ("c", "v", "tensor([[0.0, -u[2], u[1]], [u[2], 0.0, -u[0]], [-u[1], u[0], 0.0]])"),
        ("y", "u", "tensor([[1.0, 0.0, 0.0], [0.0, exp(W @ v[:2])[0], 0.0], [0.0, 0.0, exp(W @ v[:2])[1]]])"),
    ],
)
def test_they_are_short_and_hold(of: str, by: str, written: str) -> None:
    found = explain_derivative(case_of(GRAPH), Derivative.of("jacobian", of, by))
    assert found.expr is not None
    assert to_text(found.expr) == written.replace("exp(W @ v[:2])[0]", "exp((W @ v[:2])[0])").replace(
        "exp(W @ v[:2])[1]", "exp((W @ v[:2])[1])"
    )
    assert found.proof


def test_sums_and_products_of_entries_hold() -> None:
    found = explain_derivative(case_of(GRAPH), Derivative.of("jacobian", "p", "q"))
    assert found.expr is not None
    assert to_text(found.expr).endswith("[t[2] + q[0], q[0], q[0]]])")


def test_large_ones_are_not_listed() -> None:
    assert explain_derivative(case_of(GRAPH), Derivative.of("jacobian", "big", "w")).why_not is not None
