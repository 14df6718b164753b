"""The matrix of a gradient formula, which is linear in the incoming gradient."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.checks.scope import Scope
from gradcheck.engines.core import Core
from gradcheck.errors import Unsupported
from gradcheck.language.expr.nodes import Expr
from gradcheck.language.expr.parser import parse
from gradcheck.language.expr.printer import to_text
from gradcheck.language.symbolic.linear_maps import matrix_of
from tests.from_text import problem_from

TEXT = """
    inputs: {v: [1.0, 2.0, 3.0], c: 5.0, A: [[1.0, 2, 3], [4, 5, 6], [7, 8, 10]], B: [[1.0, 2], [3, 4], [5, 6]]}
    graph: {y: v * c}
    backward: {y: [1, -2, 4]}
"""


def scope() -> Scope:
    problem = problem_from(TEXT)
    return Scope(problem, Core().evaluate(problem).states[0])


def matrix(formula: str) -> Expr:
    return matrix_of(parse(formula), "y", "v", lambda expr: tuple(getattr(scope().value_of(expr), "shape", ())))


@pytest.mark.parametrize(
    ("formula", "written"),
    [
        ("grad(y)", "eye(grad(y).shape[0])"),
        ("grad(y) * v", "diag(v)"),
        ("v * (grad(y) - (grad(y) * v).sum())", "diag(v) - outer(v, v)"),
        ("grad(y) / v / c", "diag(1 / v) / c"),
        ("A.T @ (grad(y) * v)", "diag(v) @ A"),
        ("A @ (v * (A.T @ grad(y)))", "A @ diag(v) @ A.T"),
        ("grad(y) @ B", "B"),
        ("-c * grad(y) + grad(y) @ A", "-c * eye(grad(y).shape[0]) + A"),
        ("(grad(y) * v).sum()", "v"),
        ("v @ grad(y)", "v"),
        ("(A @ grad(y)).sum()", "sum(A.T, dim=1)"),
        ("(2 * A).T @ grad(y)", "2 * A"),
        ("expand(v @ grad(y), [3]) @ B", "outer(v, sum(B, dim=0))"),
        ("linalg.solve(A, grad(y))", "linalg.inv(A).T"),
        ("where(v <= 2, 0, grad(y))", "diag(where(v > 2, 1.0, 0.0))"),
        ("where(v == 5, 0, grad(y) * v)", "diag(v)"),
        ("A.T @ where(v > 1, grad(y) * c, 0)", "c * (diag(where(v > 1, 1.0, 0.0)) @ A)"),
        ("where(v > 1, grad(y), 2 * grad(y))", "diag(where(v > 1, 1.0, 0.0)) + 2 * diag(where(v <= 1, 1.0, 0.0))"),
        ("grad(y)[1] * v", "outer(eye(grad(y).shape[0])[1], v)"),
        (
            "index_adjoint(grad(y)[0] * c, 1, v.shape) - index_adjoint(grad(y)[2] * v[0], 0, v.shape)",
            "tensor([[0.0, c, 0.0], [0.0, 0.0, 0.0], [-v[0], 0.0, 0.0]])",
        ),
        (
            "index_adjoint(grad(y)[0] / c, -1, v.shape) + index_adjoint(grad(y)[0], -1, v.shape)",
            "tensor([[0.0, 0.0, 1.0 / c + 1.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])",
        ),
    ],
)
def test_it_gives_the_formula(formula: str, written: str) -> None:
    found = matrix(formula)
    assert to_text(found) == written
    known = scope()
    gradient = known.gradients["y"]
    np.testing.assert_allclose(gradient @ known.value_of(found), known.value_of(parse(formula)))


@pytest.mark.parametrize("formula", ["cumsum(grad(y), 0)", "B.T @ grad(y)[:, None]", "outer(grad(y), v)"])
def test_others_are_not_derived(formula: str) -> None:
    with pytest.raises(Unsupported):
        matrix(formula)
