"""The place of everything in a document, also of what stands inside a text; and its name."""

from __future__ import annotations

import pytest

from gradcheck.errors import Place
from gradcheck.language.loader.yaml_document import BROKEN, describe, path_text, shorten
from tests.language.loader.cases import document

TEXT = """\
a: {b: [1, 'x + y']}
c: |
  one
  two
d: >-
  three
  four
"""


def test_places_of_values_and_keys() -> None:
    found = document(TEXT)
    assert found.place(("a", "b", 0)) == Place("f.yaml", 1, 9)
    assert found.key_place(("a", "b")) == Place("f.yaml", 1, 5)
    assert found.key_place(("a", "b", 0)) == Place("f.yaml", 1, 9)
    assert list(found.key_places(())) == ["a", "c", "d"]
    assert found.key_places(("a", "b")) == {}


def test_what_is_not_there_has_the_place_of_what_is_above_it() -> None:
    found = document(TEXT)
    assert found.place(("a", "b", 7)) == found.place(("a", "b"))
    assert found.place(("q",)) == Place("f.yaml", 1, 1)
    assert found.key_place(("a", "q")) == found.place(("a",))


def test_text_begins_behind_its_quotation_mark() -> None:
    assert document(TEXT).text_place(("a", "b", 1)) == Place("f.yaml", 1, 13)


@pytest.mark.parametrize(
    ("path", "text", "offset", "line", "column"),
    [
        (("a", "b", 1), "x + y", 4, 1, 17),
        (("c",), "one\ntwo\n", 0, 3, 3),
        (("c",), "one\ntwo\n", 4, 4, 3),
        (("d",), "three four", 7, 7, 4),
    ],
)
def test_a_character_of_a_text_is_located(
    path: tuple[str | int, ...], text: str, offset: int, line: int, column: int
) -> None:
    assert document(TEXT).locate(path, text, offset) == Place("f.yaml", line, column)


def test_a_value_that_could_not_be_read_says_so() -> None:
    assert repr(BROKEN) == "BROKEN"


def test_the_way_to_a_value() -> None:
    assert path_text(("steps", 0, "expected", "x")) == "'steps[0].expected.x'"
    assert len(path_text(("x" * 100,))) == 62


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "nothing (null)"),
        (True, "true"),
        (2.5, "the number 2.5"),
        (10**40, "the number 10000000000000000000000…"),
        ("a b", "the text 'a b'"),
        ({}, "an empty mapping"),
        ([0], "a list"),
    ],
)
def test_values_in_words(value: object, text: str) -> None:
    assert describe(value) == text


def test_a_text_is_cut_to_so_many_characters() -> None:
    assert (shorten("abcd", 4), shorten("abcde", 4)) == ("abcd", "abc…")


@pytest.mark.parametrize(("text", "is_cut"), [("{a: sum(x, 0)}", True), ("{a: sum(x }", True), ("a: sum(x\n", False)])
def test_a_comma_or_a_bracket_ends_a_value_of_flow_style(text: str, is_cut: bool) -> None:
    assert document(text).is_cut(("a",), "sum(x") is is_cut


def test_lines_of_a_text() -> None:
    found = document(TEXT)
    assert found.lines_of(("d",), "three four") == [">-", "  three", "  four"]
    assert found.lines_of(("a", "b", 0), "1") == ["1, 'x + y']}"]
    assert document("a: b").lines_of(("a",), "b") == ["b"]
