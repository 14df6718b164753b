"""A formula that speaks of the gradient that it is about claims nothing."""

from __future__ import annotations

import pytest

from gradcheck.language.expr.parser import parse
from gradcheck.language.loader import circular_formulas, load_text
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


def chain(length: int) -> str:
    """A graph of many tensors, steps of a derivation that speak of one more gradient each, and a formula for each."""
    lines = ["inputs: {x: [1, 2]}", "graph:", *(f"  y{i}: x * {i}" for i in range(length)), "let:", "  d0: grad(y0)"]
    lines += [f"  d{i}: d{i - 1} + grad(y{i})" for i in range(1, length)]
    return "\n".join([*lines, "formulas:", *(f"  y{i}: d{i - 1}" for i in range(1, length))])


def test_steps_are_followed_up_to_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    (case,), errors = load_text(chain(20), "f.yaml")
    assert len(case.formulas) == 19
    assert not errors
    monkeypatch.setattr(circular_formulas, "_MOST_STEPS", 20)
    cases, errors = load_text(chain(20), "f.yaml")
    assert not cases
    assert str(errors[0]) == (
        "f.yaml:49:7: the steps of the derivations are too many to be followed;"
        " use fewer steps in `let`, or put the formulas into several cases"
    )


def test_the_graph_is_read_once_for_all_hints(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    monkeypatch.setattr(circular_formulas, "parse", lambda text: read.append(text) or parse(text))
    lines = ["inputs: {x: [1, 2]}", "graph:", *(f"  y{i}: x * {i}" for i in range(30)), "formulas:"]
    _, errors = load_text("\n".join([*lines, *(f"  y{i}: grad(y{i})" for i in range(30))]), "f.yaml")
    assert len(errors) == len(read) == 30
