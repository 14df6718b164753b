"""The text of an expression before it is read: its columns, its numbers, and what is refused at once."""

from __future__ import annotations

import ast
import warnings

import pytest

from gradcheck.errors import InvalidCase, Place
from gradcheck.language.expr.nodes import Literal
from gradcheck.language.expr.parser import parse
from gradcheck.language.expr.syntax import Source, dotted_name, fits_64_bits, is_number, signed_number, unsigned_number


def test_columns_count_characters_not_bytes():
    assert [node.at for node in parse("  θθ + αβ * x").args[1].args] == [7, 12]


def test_nothing_is_printed_on_standard_error_for_odd_texts():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert parse(r"'\d'") == Literal("\\d")
        with pytest.raises(InvalidCase):
            parse("1or x")


def node(text: str) -> ast.expr:
    return Source(text).tree()


def test_errors_stand_in_the_file() -> None:
    error = Source("x + y", Place("f.yaml", 3, 5)).error(4, "wrong", "try")
    assert (error.place, error.message, error.hint) == (Place("f.yaml", 3, 9), "wrong", "try")


@pytest.mark.parametrize("text", ["x + y", "  x + y", " θ + y"])
def test_columns_of_the_tree_are_columns_of_the_text(text: str) -> None:
    source = Source(text)
    tree = source.tree()
    assert isinstance(tree, ast.BinOp)
    assert source.offset(tree.right.col_offset) == text.index("y")
    attribute = Source("x.sum").tree()
    assert Source("x.sum").name_at(attribute, "sum") == 2


@pytest.mark.parametrize(
    ("text", "at", "message"),
    [
        ("x)", 1, "')' closes nothing"),
        ("[(x]", 3, "']' closes nothing"),
        ("(x", 0, "'(' is never closed"),
        ("x, y", 1, "a comma outside of brackets"),
        ("'#' + x # y", 8, "a comment"),
        ("x\0", 1, "a NUL character"),
        ("  ", 0, "an empty expression"),
        ("(" * 101 + ")" * 101, 100, "nested more than 100"),
        ("x" * 11, 0, "11 characters, where 10 are allowed"),
    ],
)
def test_what_is_refused_before_it_is_parsed(text: str, at: int, message: str) -> None:
    with pytest.raises(InvalidCase) as caught:
        Source(text).tree(max_length=10 if text == "x" * 11 else 10_000)
    assert message in caught.value.message
    assert caught.value.place.column == at


def test_brackets_inside_texts_are_text() -> None:
    assert isinstance(node("f('(', \"]\")"), ast.Call)


def test_dotted_names_of_up_to_three_words() -> None:
    assert [dotted_name(node(text)) for text in ("x", "a.b", "a.b.c", "a.b.c.d", "f().a")] == [
        "x",
        "a.b",
        "a.b.c",
        "",
        "",
    ]


def test_numbers_that_stand_there() -> None:
    assert [unsigned_number(node(text)) for text in ("2", "2j", "torch.inf", "-2", "True", "x", "'2'")] == [
        2, 2j, float("inf"), None, None, None, None,
    ]  # fmt: skip
    assert [signed_number(node(text)) for text in ("-2", "2", "--2")] == [-2, 2, None]
    assert unsigned_number(node("9" * 20)) is None


def test_numbers_and_what_fits() -> None:
    assert [is_number(value) for value in (1, 1.5, 1j, True, "1", None)] == [True, True, True, False, False, False]
    assert [fits_64_bits(value) for value in (2**63, 2**63 + 1, float("inf"), "x")] == [True, False, False, True]
