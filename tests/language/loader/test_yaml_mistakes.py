"""Slips in the lines of a text that is no YAML; what each comes to stands in `tests/slips/yaml.md`."""

from __future__ import annotations

from typing import Any

import pytest

from gradcheck.errors import Hint, Place
from gradcheck.language.loader import yaml_mistakes
from gradcheck.language.loader.yaml_mistakes import find_mistake_in_text, find_yaml_mistakes


def places(text: str, until: int | None = None) -> list[tuple[int, int]]:
    return [(slip.line, slip.column) for slip in find_yaml_mistakes(text, text.count("\n") if until is None else until)]


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("a: 1\n\tb: 2", (1, 0)),
        ("a: 1\nb = 2", (1, 1)),
        ("a:\n  b:2\n  c: 3", (1, 3)),
        ("a: @b", (0, 3)),
        ("a: b: c", (0, 4)),
        ("a: 1\nb 2\nc: 3", (1, 0)),
        ("a: 1\n  b: 2", (1, 2)),
        ("a:\n  b: 1\n c: 2", (2, 1)),
        ("a: {b: 1\nc: 2", (0, 3)),
        ("a: [[1, 2],\n   [3, 4]\nc: 2", (0, 3)),
        ("a: 'b\nc: 2", (0, 3)),
        ("a: [1, 2].T", (0, 9)),
        ("a: f(x: 1)", (0, 6)),
    ],
)
def test_where_a_slip_is(text: str, where: tuple[int, int]) -> None:
    assert places(text) == [where]


def test_those_right_above_the_last_are_told_too() -> None:
    assert places("a: 1\nb = 1\nc:2\nd: 3") == [(1, 1), (2, 1)]
    assert places("b = 1\na: 1\nc:2") == [(2, 1)]
    assert places("a:\n\tb: 1\n\tc: 2") == [(1, 0)]  # one tab stands for all


def test_what_comes_below_the_parsers_place_is_not_looked_at() -> None:
    assert places("a: 1\nb = 2", until=0) == []


@pytest.mark.parametrize("text", ["a: |\n  b = 2\n  c:3\nd: 1", "# b = 2\na: 1", "a: 1\n\nb: 2", "a: [1,\n  2]\nb: 3"])
def test_what_is_no_slip(text: str) -> None:
    assert places(text) == []


def test_brackets_are_followed_in_time_in_proportion(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each line opens a bracket that is closed at the end, as in a quoted text."""
    read: list[int] = []
    follow = yaml_mistakes._follow_brackets

    def counted(text: str, *rest: Any) -> None:
        read.append(len(text) + 1)
        follow(text, *rest)

    monkeypatch.setattr(yaml_mistakes, "_follow_brackets", counted)
    text = "\n".join(['a: "', *[" - ["] * 200, *[" - ]"] * 200, '"', "b: @"])
    find_yaml_mistakes(text, text.count("\n"))
    assert sum(read) < 6 * len(text)


def test_a_hint_knows_its_edit() -> None:
    (slip,) = find_yaml_mistakes("a: b: c", 0)
    hint = slip.hint
    assert isinstance(hint, Hint)
    assert (hint.old, hint.new, hint.place) == ("b: c", "'b: c'", Place("", 0, 3))


def test_a_text_where_a_mapping_belongs() -> None:
    found = find_mistake_in_text("d:3")
    assert found is not None
    assert (found.column, found.hint) == (1, "a space after the colon: d: 3")
    assert find_mistake_in_text("x.sum()") is None
