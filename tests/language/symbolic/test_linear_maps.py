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

OF_MATRICES = """
    inputs: {X: [[1.0, 2.0, 3.0], [4, 5, 7], [2, 2, 1]], W: "randn(3, 3, 4)", v: [1.0, 2, 4]}
    graph: {Z: 2 * X}
    backward: {Z: [[1, -2, 4], [0.5, 3, 1], [2, 5, 7]]}
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
        ("-c * grad(y) + grad(y) @ A", "A - c * eye(grad(y).shape[0])"),
        ("(grad(y) * v).sum()", "v"),
        ("v @ grad(y)", "v"),
        ("(A @ grad(y)).sum()", "sum(A, dim=0)"),
        ("(2 * A).T @ grad(y)", "2 * A"),
        ("expand(v @ grad(y), [3]) @ B", "outer(v, sum(B, dim=0))"),
        ("linalg.solve(A, grad(y))", "linalg.inv(A).T"),
        ("where(v <= 2, 0, grad(y))", "diag(where(v > 2, 1.0, 0.0))"),
        ("where(v == 5, 0, grad(y) * v)", "diag(v)"),
        ("A.T @ where(v > 1, grad(y) * c, 0)", "c * (diag(where(v > 1, 1.0, 0.0)) @ A)"),
        ("where(v > 1, grad(y), 2 * grad(y))", "diag(where(v > 1, 1.0, 0.0)) + 2 * diag(where(v <= 1, 1.0, 0.0))"),
        ("grad(y)[1] * v", "tensor([[0.0, 0.0, 0.0], [v[0], v[1], v[2]], [0.0, 0.0, 0.0]])"),
        ("cumsum(grad(y) * v, 0)", "tensor([[v[0], v[0], v[0]], [0.0, v[1], v[1]], [0.0, 0.0, v[2]]])"),
        ("(-2 * A) @ grad(y) / c", "-2 * A.T / c"),
        ("sum(outer(grad(y) * v, v) * A, dim=0)", "diag(v) @ A @ diag(v)"),
        ("sum(outer(grad(y) * v, v) * A, dim=1)", "diag(v * (A @ v))"),
        ("outer(grad(y), v)", "einsum('ij,k->ijk', eye(grad(y).shape[0]), v)"),
        (
            "roll(grad(y) * roll(v, 1, 0), 1, 0) / c",
            "tensor([[0.0, v[2] / c, 0.0], [0.0, 0.0, v[0] / c], [v[1] / c, 0.0, 0.0]])",
        ),
        (
            "flip(grad(y), (0,)) * cos(v) - grad(y)",
            "tensor([[-1.0, 0.0, cos(v[2])], [0.0, cos(v[1]) - 1.0, 0.0], [cos(v[0]), 0.0, -1.0]])",
        ),
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


@pytest.mark.parametrize(
    ("formula", "written"),
    [
        ("-Z.T @ grad(Z) @ Z.T", "-einsum('ik,lj->ijkl', Z, Z)"),
        ("Z @ grad(Z).T", "einsum('il,kj->ijkl', eye(grad(Z).shape[0]), Z)"),
        ("sum(unsqueeze(grad(Z), dim=2) * W, dim=1)", "einsum('ijl,ik->ijkl', W, eye(grad(Z).shape[0]))"),
        (
            "grad(Z) / Z.sum(1)[:, None]",
            "einsum('i,ik,jl->ijkl', 1 / sum(Z, 1), eye(grad(Z).shape[0]), eye(grad(Z).shape[1]))",
        ),
        (
            "v * sum(grad(Z), dim=1, keepdim=True)",
            "einsum('ik,j,l->ijkl', eye(grad(Z).shape[0]), ones(grad(Z).shape[1]), v)",
        ),
        ("X.T @ (X @ grad(Z) * v)", "einsum('ai,j,jl,ak->ijkl', X, v, eye(grad(Z).shape[1]), X)"),
    ],
)
def test_derivatives_of_matrices_are_einsums(formula: str, written: str) -> None:
    problem = problem_from(OF_MATRICES)
    scope = Scope(problem, Core().evaluate(problem).states[0])
    found = matrix_of(parse(formula), "Z", "Z", lambda expr: tuple(getattr(scope.value_of(expr), "shape", ())))
    assert to_text(found) == written
    np.testing.assert_allclose(
        np.tensordot(scope.gradients["Z"], scope.value_of(found)), scope.value_of(parse(formula))
    )


@pytest.mark.parametrize("formula", ["cumprod(grad(y), 0)", "softmax(grad(y), 0)"])
def test_others_are_not_derived(formula: str) -> None:
    with pytest.raises(Unsupported):
        matrix(formula)
