"""How errors name what stands in a file."""

from __future__ import annotations

import pytest

from gradcheck.language.loader.wording import describe, shorten, way


def test_the_way_to_a_value() -> None:
    assert way(("steps", 0, "expected", "x")) == "'steps[0].expected.x'"
    assert len(way(("x" * 100,))) == 62


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
