"""Bytes become text, and text the documents in it."""

from __future__ import annotations

import pytest

from gradcheck.errors import InvalidCase, Place
from gradcheck.language.loader import load_text
from gradcheck.language.loader.text import decode, documents
from tests.language.loader.cases import VALID


def test_a_marker_inside_a_block_of_text_divides_documents_as_yaml_says() -> None:
    cases, errors = load_text(f"description: |\n  a\n  --- b\n{VALID}", "f.yaml")
    assert not errors
    assert cases[0].description == "a\n--- b\n"


def test_directives_belong_to_the_next_document() -> None:
    cases, errors = load_text(f"%YAML 1.2\n---\n{VALID}...\n# a\n%YAML 1.1\n# b\n--- # c\n{VALID}", "f.yaml")
    assert not errors
    assert [case.place.line for case in cases] == [3, 13]


def test_bytes_become_text_with_one_kind_of_line_break() -> None:
    assert decode("\ufeffa: θ\r\nb: 1\rc: 2\n".encode(), "f.yaml") == "a: θ\nb: 1\nc: 2\n"


@pytest.mark.parametrize(
    ("raw", "message", "column"),
    [
        (b"a: \xff", "the byte 0xff is not UTF-8", 4),
        (b"\xff\xfea", "the file is in UTF-16", 1),
        (b"a\x00", "a NUL byte", 2),
    ],
)
def test_what_is_no_text_is_refused_at_its_place(raw: bytes, message: str, column: int) -> None:
    with pytest.raises(InvalidCase, match=message) as caught:
        decode(raw, "f.yaml")
    assert caught.value.place == Place("f.yaml", 1, column)


def test_documents_come_with_their_first_line_and_empty_ones_not_at_all() -> None:
    assert list(documents("a: 1\n---\n# nothing\n--- # b\nb: 2\n...\n")) == [("a: 1\n", 1), ("--- # b\nb: 2\n", 4)]
    assert list(documents("")) == []
    assert list(documents("a: '---'\n")) == [("a: '---'\n", 1)]  # no marker: it does not begin the line
