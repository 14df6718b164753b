"""Formulas as MathML: whatever the LaTeX printer writes, and nothing that is markup."""

from __future__ import annotations

import xml.dom.minidom

import pytest

from gradcheck.autograd.op import TABLE
from gradcheck.language.expr.latex import name_to_latex
from gradcheck.reports.page.mathml import MAX_LATEX_LENGTH, formula_to_mathml, latex_to_mathml
from tests.reports.page.formulas import FORMULAS


@pytest.mark.parametrize(
    ("text", "math"),
    [
        ("x ** 2", "<msup><mi>x</mi><mn>2</mn></msup>"),
        ("A.T", "<msup><mi>A</mi><mo>⊤</mo></msup>"),
        ("x / 3", "<mfrac><mi>x</mi><mn>3</mn></mfrac>"),
        ("w1", "<msub><mi>w</mi><mn>1</mn></msub>"),
        ("beta", "<mi>β</mi>"),
        ("sqrt(x)", "<msqrt><mi>x</mi></msqrt>"),
        ("grad(y)", "<msub><mo>∇</mo><mi>y</mi></msub>"),
        ("x < y", "<mi>x</mi><mo>&lt;</mo><mi>y</mi>"),
    ],
)
def test_signs(text: str, math: str) -> None:
    assert formula_to_mathml(text) == f"<math>{math}</math>"


def test_all_that_is_written_is_well_formed() -> None:
    broken = []
    for text in (*FORMULAS, *(f"{name}(x)" for name in TABLE if "." not in name)):
        math = formula_to_mathml(text, "w_1")
        try:
            if math:
                xml.dom.minidom.parseString(math)
        except Exception as error:
            broken.append((text, str(error)))
    assert not broken
    assert all(formula_to_mathml(text) for text in FORMULAS)


def test_names_are_escaped() -> None:
    math = latex_to_mathml(name_to_latex("<img src=x onerror=alert(1)>"))
    assert "<img" not in math
    assert "&lt;img src=x onerror=alert(1)&gt;" in math


def test_what_cannot_be_typeset_is_left_out() -> None:
    assert formula_to_mathml("x +") == ""
    assert formula_to_mathml(" + ".join(["x"] * MAX_LATEX_LENGTH)) == ""


def test_deep_formulas_do_not_recurse() -> None:
    assert formula_to_mathml("sqrt(" * 60 + "x" + ")" * 60)
