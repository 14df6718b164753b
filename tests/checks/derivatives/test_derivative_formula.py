"""Formulas of derivatives."""

from __future__ import annotations

import pytest

from gradcheck.checks.derivative_explanation import explain_derivative
from gradcheck.checks.derivatives.derivative_formula import derived_formula
from gradcheck.errors import Unsupported
from gradcheck.language.expr.nodes import Derivative
from gradcheck.language.expr.printer import to_text
from tests.checks.derivatives.test_derivative_mistakes import diagnoses
from tests.from_text import case_of


def test_sizes_have_their_words_and_the_gradient_its_formula() -> None:
    case = case_of(
        """
        dims: {n: 4}
        inputs: {x: randn(n)}
        graph: {d: x - x.mean(), f: (d ** 2).sum(), y: cumsum(x, 0)}
        """.replace("cumsum(x, 0)", '"cumsum(x, 0)"')
    )
    written = to_text(derived_formula(case, Derivative.of("jacobian", "d", "x"), None))
    assert written == "eye(n) - outer(ones(n), ones(n)) / n"
    assert "first" not in to_text(derived_formula(case, Derivative.of("hessian", "f", "x"), None))
    with pytest.raises(Unsupported):
        derived_formula(case, Derivative.of("jacobian", "y", "x"), None)


GRAPH = """
    dims: {n: 5, d: 3}
    inputs: {x: "randn(d)", A: "randn(n, d)", c: "randn([])", u: "randn(2)"}
    graph: {s: "x.sum()", m: "c * x.mean()", e: "x[1] - x[0]", y: "A @ x * x.mean()",
            p: "stack([u[0] - u[1] - x[0], x[1] + 2 * u[1]])",
            q: "A @ x / x.shape[0]"}
"""


@pytest.mark.parametrize(
    ("of", "by", "written"),
    [
        ("s", "x", "ones(d)"),
        ("m", "x", "c * ones(d) / d"),
        ("e", "x", "eye(d)[1] - eye(d)[0]"),
        ("y", "x", "outer(A @ x, ones(d)) / d + mean(x) * A"),
        ("p", "x", "outer(eye(p.shape[0])[1], eye(d)[1]) - outer(eye(p.shape[0])[0], eye(d)[0])"),
        ("p", "u", "tensor([[1.0, -1.0], [0.0, 2.0]])"),
        ("q", "x", "A / d"),
    ],
)
def test_derivatives_have_the_shape_of_both_and_each_size_its_own_word(of: str, by: str, written: str) -> None:
    term = Derivative.of("jacobian", of, by)
    assert to_text(derived_formula(case_of(GRAPH), term, None)) == written
    assert explain_derivative(case_of(GRAPH), term).why_not is None


def test_a_size_of_two_words_has_neither() -> None:
    case = case_of(
        'dims: {n: 4, d: 4}\ninputs: {x: "randn(d)", y: "randn(n)"}\ngraph: {z: "x[:2] * x[2:] + 1", v: x * y}'
    )
    assert to_text(derived_formula(case, Derivative.of("jacobian", "v", "v"), None)) == "eye(v.shape[0])"


LOGISTIC = """
    dims: {n: 5, d: 3}
    inputs: {X: "randn(n, d)", w: "randn(d)", t: "rand(n)", c: "uniform(1, 2, [n])"}
    graph: {s: sigmoid(X @ w), h: relu(X @ w), v: tanh(w), p: softplus(X @ w),
            r: "X @ w - t", l: "log(cosh(r)).sum()", f: "-(t * log(s) + (1 - t) * log(1 - s)).mean()"}
    backward: f
"""
UNICYCLE = """
    inputs: {x: "randn(3)", u: "randn(2)"}
    graph: {y: "stack([x[0] + u[0] * cos(x[2]), x[1] + u[0] * sin(x[2]), x[2] + u[1]])"}
"""

BLOCKS = """
    inputs: {x: "randn(4)", v: "randn(2)"}
    constants: {R: "randn(2, 2)", S: "randn(2, 2)"}
    graph: {y: "cat([R @ x[:2], S @ x[2:]])", z: "2 * R @ (2 * R @ (2 * R @ v + v))"}
    backward: {z: randn(2)}
    let: {Q: 2 * R}
"""
CURVE = """
    dims: {n: 6}
    inputs: {a: "rand([])", k: "rand([])"}
    constants: {s: rand(n)}
    graph: {m: a * exp(-k * s)}
"""


@pytest.mark.parametrize(
    ("text", "section", "of", "by", "claim", "kind", "formula"),
    [
        (LOGISTIC, "hessians", "f", "w", "X.T @ diag(s - t) @ X / n", "did_you_mean",
         "X.T @ diag((1 - s) * s) @ X / n"),
        (LOGISTIC, "hessians", "f", "w", "X.T @ diag(t * (1 - t)) @ X / n", "did_you_mean",
         "X.T @ diag(s * (1 - s)) @ X / n"),
        (LOGISTIC, "jacobians", "h", "w", "diag(h) @ X", "did_you_mean", "diag(where(X @ w > 0, 1.0, 0.0)) @ X"),
        (LOGISTIC, "jacobians", "h", "w", "X", "derived", "diag(where(X @ w > 0, 1.0, 0.0)) @ X"),
        (LOGISTIC, "hessians", "l", "w", "X.T @ diag(1 - r ** 2) @ X", "did_you_mean",
         "X.T @ diag(1 - tanh(r) ** 2) @ X"),
        (LOGISTIC, "jacobians", "p", "w", "diag(p) @ X", "did_you_mean", "diag(s) @ X"),
        (UNICYCLE, "jacobians", "y", "u", "stack([stack([x[2], 0 * u[0]]), stack([x[1], u[0]]), x[:2]])", "derived",
         "tensor([[cos(x[2]), 0.0], [sin(x[2]), 0.0], [0.0, 1.0]])"),
        (UNICYCLE, "jacobians", "y", "u", "tensor([[cos(x[2]), 0], [u[0] * cos(x[2]), 0], [0, 1]])", "did_you_mean",
         "tensor([[cos(x[2]), 0], [sin(x[2]), 0], [0, 1]])"),
        (UNICYCLE, "jacobians", "y", "u", "stack([stack([sin(x[2]), 0 * u[0]]), stack([cos(x[2]), 0 * u[0]]), x[:2]])",
         "derived", "tensor([[cos(x[2]), 0.0], [sin(x[2]), 0.0], [0.0, 1.0]])"),
        (UNICYCLE, "jacobians", "y", "u", "tensor([[sin(x[2]), 0], [cos(x[2]), 0], [0, 2]])", "did_you_mean",
         "tensor([[cos(x[2]), 0], [sin(x[2]), 0], [0, 1.0]])"),
        (LOGISTIC, "hessians", "f", "w", "X @ diag(s * (1 - s)) @ X.T / n", "did_you_mean",
         "X.T @ diag(s * (1 - s)) @ X / n"),
        (CURVE, "jacobians", "m", "k", "-k * m", "did_you_mean", "-s * m"),
        (BLOCKS, "jacobians", "y", "x", "cat([cat([R, S], 1), cat([zeros(2, 2), zeros(2, 2)], 1)], 0)", "did_you_mean",
         "cat([cat([R, zeros(2, 2)], 1), cat([zeros(2, 2), S], 1)], 0)"),
        (BLOCKS, "jacobians", "z", "v", "S @ S @ S + S @ S", "did_you_mean", "Q @ Q @ Q + Q @ Q"),
    ],
)  # fmt: skip
def test_a_part_of_the_derived_one_is_suggested_or_all_of_it(
    text: str, section: str, of: str, by: str, claim: str, kind: str, formula: str
) -> None:
    found = [(one.kind, one.formula) for one in diagnoses(text, section, of, by, claim) if one.formula]
    assert found == [(kind, formula)]


def test_long_formulas_are_neither_suggested_nor_searched() -> None:
    steps = "".join(f', h{i + 1}: "tanh(h{i} * w + x)"' for i in range(8))
    text = f'inputs: {{x: "randn(4)", w: "randn(4)"}}\ngraph: {{h0: tanh(x){steps}, f: (h8 ** 2).sum()}}\n'
    assert diagnoses(text, "hessians", "f", "x", "diag((1 - h7 ** 2) * w + x * h0 + h1 * h2)") == ()
