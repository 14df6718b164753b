"""Names: which an expression can use, which section each belongs to, and what is said where they do not fit."""

from __future__ import annotations

import pytest

from gradcheck.errors import Place
from gradcheck.language.loader.name_scope import tensor_of_gradient_name
from tests.language.loader.cases import scope

TEXT = "inputs: {x: 1}\nconstants: {c: 2}\ngraph: {y: x, m: x}\n"


def test_every_name_belongs_to_one_section() -> None:
    names, errors = scope(TEXT)
    assert names.defined == {"x": "inputs", "c": "constants", "y": "graph", "m": "graph"}
    assert names.line("y") == 3
    assert errors == []


def test_a_name_that_is_taken_keeps_its_first_meaning() -> None:
    names, (error,) = scope("inputs: {x: 1}\ngraph: {x: 2}\n")
    assert names.defined == {"x": "inputs"}
    assert (error.message, error.hint) == ("the name 'x' is defined twice", "it is an input on line 1 already")
    assert error.place == Place("f.yaml", 2, 9)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("lambda", "it is a word of Python's; try 'lambda_'"),
        ("a b", "try 'a_b'"),
        ("1e3", "try '_1e3'"),
        ("µ", "write 'μ', which looks alike and is what an expression reads"),
        ("randn(2", "in YAML's flow style a comma ends an entry, so expressions there need quotes"),
        ("+", "a name is letters, digits and _"),
    ],
)
def test_names_that_no_expression_can_use_are_excused(name: str, hint: str) -> None:
    names, (error,) = scope(f'inputs:\n  "{name}": 1\n')
    assert error.hint == hint
    assert name in names.possibly_defined
    assert name not in names.defined


def test_references_to_sections_and_to_parts() -> None:
    names, errors = scope(TEXT)
    assert names.check_reference(("formulas", "x"), ("inputs", "graph"), "the tensor")
    assert names.check_reference(("formulas", "m[0]"), ("inputs", "graph"), "the tensor")
    assert not names.check_reference(("formulas", "x[0]"), ("inputs", "graph"), "the tensor")
    assert not names.check_reference(("formulas", "c"), ("inputs", "graph"), "the tensor")
    assert [(error.message, error.hint) for error in errors] == [
        ("the tensor 'x[0]' is unknown", "known here: x, y, m"),
        (
            "'c' is a constant, where an input or a tensor of the graph is wanted",
            "constants get no gradient: define it under `inputs`",
        ),
    ]


def test_a_name_that_an_error_may_have_hidden_is_no_further_error() -> None:
    names, errors = scope(TEXT)
    names.possibly_defined.add("q")
    assert not names.check_reference(("formulas", "q"), ("inputs",), "the tensor")
    assert errors == []


def test_what_was_meant() -> None:
    names, _ = scope(TEXT)
    assert names.suggestion("true", []) == "write True"
    assert names.suggestion("alhpa", ["alpha", "beta"]) == "did you mean 'alpha'?"
    assert names.suggestion("zzz", [f"n{i}" for i in range(13)]).endswith("n11, …")
    for _ in range(60):
        names.add_error("wrong", Place())
    assert names.suggestion("alhpa", ["alpha"]) == ""  # hints are for the first errors alone


def test_sizes_that_are_nowhere_given_are_one_error() -> None:
    names, errors = scope(TEXT)
    names.add_missing_size("n", Place("f.yaml", 1, 5))
    assert str(errors[0]) == "f.yaml:1:5: the size 'n' is unknown; sizes go under dims, as in dims: {n: 4}"
    for name in ("d", "h", "n"):
        names.add_missing_size(name, Place("f.yaml", 2, 5))
    (error,) = errors
    assert str(error) == (
        "f.yaml:1:5: the sizes n, d and h are unknown; sizes go under dims, as in dims: {n: 4, d: 3, h: 5}"
    )
    named, errors = scope(TEXT, {"m": 2})
    named.add_missing_size("n", Place("f.yaml", 1, 5))
    assert errors[0].hint == "sizes go under dims: n: 4"


@pytest.mark.parametrize(
    ("name", "tensor"),
    [("dZ", "Z"), ("d_Z", "Z"), ("dL_dZ", "Z"), ("grad_Z", "Z"), ("Z_grad", "Z"), ("gZ", ""), ("dW", ""), ("Z", "")],
)
def test_what_a_hand_calls_a_gradient(name: str, tensor: str) -> None:
    assert tensor_of_gradient_name(name, ["Z", "x"]) == tensor
