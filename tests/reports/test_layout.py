"""Lines of a report: indented, within its width, coloured only on demand."""

from __future__ import annotations

from typing import get_args

from rich.text import Text

from gradcheck.checks.result import CaseStatus
from gradcheck.reports import Look
from gradcheck.reports.layout import WORDS, indented, output


def test_every_status_has_its_word() -> None:
    assert set(WORDS) == set(get_args(CaseStatus))
    assert all(len(word) <= 7 for word, _ in WORDS.values())


def test_what_is_too_wide_hangs() -> None:
    assert [line.plain for line in indented("one two three", Look(width=9))] == ["  one two", "    three"]
    assert [line.plain for line in indented("one two", Look(width=9), indent=4, hanging=6)] == ["    one", "      two"]


def test_output_keeps_lines_as_they_are() -> None:
    lines = [Text("[bold]x[/bold]  "), Text("y" * 200, style="red")]
    assert output(lines, Look(width=40)) == "[bold]x[/bold]\n" + "y" * 200 + "\n"
    colored = output(lines, Look(color=True, width=40))
    assert colored == "[bold]x[/bold]\n\x1b[31m" + "y" * 200 + "\x1b[0m\n"
