"""Formulas of derivatives."""

from __future__ import annotations

import pytest

from gradcheck.checks.derivative_explanation import explain_derivative
from gradcheck.checks.derivatives.derivative_formula import derived_formula
from gradcheck.errors import Unsupported
from gradcheck.language.expr.nodes import Derivative
from gradcheck.language.expr.printer import to_text
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
