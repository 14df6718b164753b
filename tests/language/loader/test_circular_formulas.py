"""A formula that speaks of the gradient that it is about claims nothing."""

from __future__ import annotations

import pytest

from gradcheck.language.loader import load_text
from tests.language.loader.cases import one

CASE = """\
inputs: {{x: [1, 2], u: [3, 4]}}
graph: {{h: x * u, y: h.exp()}}
backward: {{y: [1, 1]}}
let: {{d: grad(h) * 1, e: d * 2 + grad(x), f: e - e}}
formulas:
  {tensor}: {formula}
"""


@pytest.mark.parametrize(
    ("tensor", "formula", "column"),
    [
        ("x", "grad(x)", 6),
        ("x", "u * grad(h) + grad(x) - grad(x)", 20),
        ("x", "where(x > 0, grad(x), u * grad(h))", 19),
        ("x", "u * grad(h) + f", 20),
        ("h", "d", 6),
        ("y", "grad(y)", 6),
    ],
)
def test_it_is_an_error_where_it_does(tensor: str, formula: str, column: int) -> None:
    cases, (error,) = load_text(CASE.format(tensor=tensor, formula=formula), "f.yaml")
    assert not cases
    assert f"grad({tensor}) itself" in error.message
    assert ("by way of" in error.message) == ("grad(" + tensor not in formula)
    assert (error.place.line, error.place.column) == (6, column)
    assert ("such as grad(" in error.hint) == (tensor != "y")


@pytest.mark.parametrize(("tensor", "formula"), [("x", "d * u"), ("u", "grad(x) / u * x"), ("h", "grad(y) * y")])
def test_others_may_be_spoken_of(tensor: str, formula: str) -> None:
    case = one(CASE.format(tensor=tensor, formula=formula))
    assert list(case.formulas) == [tensor]


def test_in_lists_and_in_wrong_formulas_too() -> None:
    text = CASE.format(tensor="x", formula="[u * grad(h), 2 * grad(x)]") + "wrong_formulas: {u: grad(u)}\n"
    assert [error.place.line for error in load_text(text, "f.yaml")[1]] == [6, 7]
