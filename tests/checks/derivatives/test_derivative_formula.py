"""Formulas of derivatives, and the terms of a sum."""

from __future__ import annotations

import pytest

from gradcheck.checks.derivatives.derivative_formula import derived_formula, signed_terms
from gradcheck.errors import Unsupported
from gradcheck.language.expr.nodes import Derivative
from gradcheck.language.expr.parser import parse
from gradcheck.language.expr.printer import to_text
from tests.from_text import case_of


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("a - (b - c)", ["+a", "-b", "+c"]),
        ("-(a + b)", ["-a", "-b"]),
        ("(a - b) / c", ["+a / c", "-b / c"]),
        ("(a - b) @ (c + d)", ["+a @ c", "+a @ d", "-b @ c", "-b @ d"]),
        ("f(a)".replace("f", "sum"), ["+sum(a)"]),
    ],
)
def test_sums_and_products_of_sums_have_terms(text: str, terms: list[str]) -> None:
    assert [f"{'-' if sign < 0 else '+'}{to_text(term)}" for sign, term in signed_terms(parse(text))] == terms


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
