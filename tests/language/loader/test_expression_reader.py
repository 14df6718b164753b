"""Expressions in their places: every name in them is held against what is known there."""

from __future__ import annotations

import pytest

from gradcheck.errors import Place
from gradcheck.language.expr.printer import to_text
from gradcheck.language.loader import load_text
from gradcheck.language.loader.expression_reader import ExpressionReader
from tests.language.loader.cases import VALID, one, scope, with_x


def test_numbers_are_expressions_too() -> None:
    case = with_x(let="{k: 2, b: true, i: .inf, j: -.inf, h: 0x1F}", formulas="{x: 2}")
    assert [to_text(claim.expr) for claim in case.let.values()] == ["2", "True", "inf", "-inf", "31"]


def test_values_may_use_those_above_them_in_either_section() -> None:
    case = one("constants: {a: 1}\ninputs: {x: a + 1}\ngraph: {y: x}\n")
    assert case.inputs["x"].expr is not None
    _, errors = load_text("inputs: {x: a + 1}\nconstants: {a: 1}\ngraph: {y: x}\n", "f.yaml")
    assert errors[0].message == "'a' is defined below, on line 2"


def test_letters_beyond_ascii() -> None:
    case = one("inputs: {θ: [1, 2]}\ngraph: {λ: θ * 2, ŷ: λ.sum()}\n")
    assert list(case.graph) == ["λ", "ŷ"]
    _, errors = load_text("inputs: {µ: 1}\ngraph: {y: µ * 2}\n", "f.yaml")  # the micro sign, not the letter
    assert "write 'μ'" in errors[0].hint


def test_columns_count_characters() -> None:
    _, errors = load_text("inputs: {θθ: 1}\ngraph: {λ: θθ * q}\n", "f.yaml")
    assert errors[0].place == Place("f.yaml", 2, 17)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("formulae: {x: 2}", "did you mean 'formulas'?"),
        ("backward: zz", "known here: x, y, z"),
        ("let: {a: x * yy}", "known here: x, y, z"),
        ("let: {alpha: x, b: alhpa * 2}", "did you mean 'alpha'?"),
        ("let: {a: x & true}", "write True"),
        ("let: {a: b, b: x}", "a line may use the names above it; move it up"),
        ("let: {a: b, b: a}", "it depends on 'a' in turn, and a graph has no cycles"),
        ("constants: {c: [1 2]}", "numbers of a list have commas between them"),
        ("constants: {c: [yes, no]}", "booleans are true and false"),
        ("constants: {c: randn(2, 3)}", "in YAML's flow style a comma"),
        ("constants: {c: {values: 1, dtype: flaot32}}", "did you mean 'float32'?"),
        ("tags: linalg", "write [linalg]"),
        ("tolerance: 1e-3", "write {rtol: 1e-6, atol: 1e-9}"),
        ("backward: [y, z]", "write 'backward: z'"),
        ("steps: [{backward: z, formulas: {x: 2}}]", "'formulas' belongs to the case itself"),
        ("steps: [{backward: z, raises: no_grad_require}]", "did you mean 'no_grad_required'?"),
        ("wibble: 1", "the keys here are name, description"),
        ("description: shows: this", "needs quotes"),
        ("let: {a: @x}", "put quotes around text that begins with @"),
        ("generalize: {dims: {k: [1, 2]}}", "symbolic sizes are those of `dims`"),
        ("shapes: {x: n}", "write [n]"),
        ("formulas: {x: randn(3)}", "draw it under `inputs` or `constants`"),
        ("graph: {w: x}", "it is first given on line 3"),
    ],
)
def test_hints(text: str, hint: str) -> None:
    _, errors = load_text(f"{VALID}{text}\n", "f.yaml")
    assert hint in errors[0].hint
    assert errors[0].place.line == 6


def test_an_expression_is_read_with_its_text_and_place() -> None:
    names, errors = scope("inputs: {x: 1}\ngraph:\n  y: x * 2\n")
    claim = ExpressionReader(names, 100).read(("graph", "y"), "x * 2", {"x"})
    assert claim is not None
    assert (claim.text, to_text(claim.expr), claim.place) == ("x * 2", "x * 2", Place("f.yaml", 3, 6))
    assert errors == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("y + 1", "'y' is used in its own definition"),
        ("z + 1", "'z' is defined below, on line 2"),
        ("q", "the name 'q' is unknown"),
        ("grad(x)", "grad(x) is not known before the backward pass"),
        ("rand(2)", "'rand' draws random numbers"),
        ("zeros(11, n)", "zeros would make a tensor of 110 elements, where 100 are allowed"),
        ("x +", "the expression ends too early"),
    ],
)
def test_each_mistake_is_told(text: str, message: str) -> None:
    names, errors = scope(f"inputs: {{x: 1}}\ngraph: {{y: '{text}', z: x}}\n", {"n": 10})
    assert ExpressionReader(names, 100).read(("graph", "y"), text, {"x", "n"}) is None
    assert [error.message for error in errors] == [message]


def test_gradients_and_draws_where_they_may_stand() -> None:
    names, errors = scope("inputs: {x: 1}\ngraph: {y: x}\n")
    read = ExpressionReader(names, 100).read
    assert read(("graph", "y"), "grad(x) + pi", {"x"}, gradients=True) is not None
    assert read(("graph", "y"), "randn(3)", set(), random=True) is not None
    assert errors == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x * 9 ** 387420489", "9 ** 387420489 does not fit in 64 bits"),
        ("x * (1 / (n - 3))", "a division by zero: div(1, 0)"),
        ("x + 2 % (n - n) + 1", "a division by zero: remainder(2, 0)"),
        ("x * (n & 1.0)", "bitwise_and is not defined between an integer and a float"),
    ],
)
def test_arithmetic_without_tensors_has_a_value_before_any_run(text: str, message: str) -> None:
    for key in ("graph: {y: '%s'}", "graph: {y: x}\nformulas: {x: '%s'}", "graph: {y: x}\nlet: {k: '%s'}"):
        _, errors = load_text(f"dims: {{n: 3}}\ninputs: {{x: 1}}\n{key % text}\n", "f.yaml")
        assert [error.message for error in errors] == [message]


def test_arithmetic_on_tensors_and_in_what_is_wrong_anyway_is_left_alone() -> None:
    text = "dims: {n: 3}\ninputs: {x: 1}\ngraph: {y: x / (x - x) + 2 ** n / n}\nwrong_formulas: {x: x * (1 / 0)}\n"
    _, errors = load_text(text, "f.yaml")
    assert errors == []
