"""What users wrote is shown, but never obeyed."""

from __future__ import annotations

import sys
from unicodedata import category

import pytest

from gradcheck.reports.safe_text import count, for_log, ordinal, plain, plain_lines, truncate_alike, wrap


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("chain of four", "chain of four"),
        ("[red]x[/red]", "[red]x[/red]"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("two\nlines\r\ttab", "two\\nlines\\r\\ttab"),
        ("nul\0 del\x7f c1\x9b", "nul\\x00 del\\x7f c1\\x9b"),
        ("bidi\u202egnp", "bidi\\u202egnp"),
        ("lone\ud800", "lone\\ud800"),
        ("soft\u00ad vowel\u180e joined\u200d", "soft\\xad vowel\\u180e joined\\u200d"),
        ("note\ufff9\ufffb tag\U000e0041\U000e007f", "note\\ufff9\\ufffb tag\\U000e0041\\U000e007f"),
        (
            "x\ufe00 x\ufe0f -\ufe0f ❤\ufe0f\ufe0f \u180b \u2800",
            "x\\ufe00 x\\ufe0f -\\ufe0f ❤\ufe0f\\ufe0f \\u180b \\u2800",
        ),
        ("filler\u3164 variant\U000e0100", "filler\\u3164 variant\\U000e0100"),
        ("own\ue000 none\ufffe\U0010ffff", "own\\ue000 none\\ufffe\\U0010ffff"),
        ("grün 梯度 ∂ \u00a0\u3000 e\u0301 ❤\ufe0f", "grün 梯度 ∂ \u00a0\u3000 e\u0301 ❤\ufe0f"),
    ],
)
def test_plain_escapes_what_moves_the_cursor_or_hides(text: str, shown: str) -> None:
    assert plain(text) == shown


def test_plain_leaves_nothing_that_is_no_text() -> None:
    everything = map(chr, range(sys.maxunicode + 1))
    kept = {category(letter) for letter in everything if plain(letter) == letter}
    assert kept.isdisjoint({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})
    assert kept > {"Lu", "Lo", "Mn", "Nd", "Sm", "So", "Zs"}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\n::error file=a::b\nc", "a\n\\x3a:error file=a::b\nc"),
        ("\u3000 ::add-mask::x", "\u3000 \\x3a:add-mask::x"),
        ("a ##[error]b ##vso[task.c]##teamcity[d]", "a \\x23#[error]b \\x23#vso[task.c]\\x23#teamcity[d]"),
        ("  a.yaml::name\n::2]\n:: a::\n# a\n## b [c]", "  a.yaml::name\n::2]\n:: a::\n# a\n## b [c]"),
    ],
)
def test_no_line_commands_the_service_whose_log_it_is_in(text: str, shown: str) -> None:
    assert for_log(text) == shown


def test_plain_lines_keep_lines_apart() -> None:
    assert plain_lines("a\n\tb\x1b\n") == ["a", "    b\\x1b"]


def test_counts_in_words() -> None:
    assert (count(1, "case"), count(2, "case"), count(0, "entry", "entries")) == ("1 case", "2 cases", "0 entries")


def test_wrap_keeps_to_the_width_and_hangs() -> None:
    lines = wrap("one two three four", 12, "  ", "    ")
    assert lines == ["  one two", "    three", "    four"]
    assert wrap("unbreakableword", 8, "  ") == ["  unbreakableword"]


def test_wrap_counts_columns_not_characters() -> None:
    assert wrap("abc def", 7, "") == ["abc def"]
    assert wrap("梯度 梯度", 8, "") == ["梯度", "梯度"]
    assert wrap("e\u0301 e\u0301", 3, "") == ["e\u0301 e\u0301"]


def test_places_in_words() -> None:
    assert [ordinal(index) for index in (0, 1, 5, 6)] == ["first", "second", "sixth", "7th"]


def test_long_texts_are_cut_so_that_they_differ() -> None:
    assert truncate_alike("x + 1", "x", 20) == ("x + 1", "x")
    one, other = truncate_alike("x" * 50 + " + 1", "x" * 50 + " - 1", 20)
    assert one != other
    assert (one[0], one[-4:], other[-4:], len(one)) == ("…", " + 1", " - 1", 14)
