"""A line with carets, within the width, whatever stands in it."""

from __future__ import annotations

import time

import pytest
from rich.cells import cell_len

from gradcheck.errors import Place
from gradcheck.reports import Look
from gradcheck.reports.excerpt import excerpt
from gradcheck.reports.source_lines import SourceLocation

PLACE = Place("case.yaml", 14, 8)
LINE = "  dZ1: (dZ2 @ W2.T) * (1 - H)"


def shown(spot: SourceLocation, label: str = "", width: int = 80) -> list[str]:
    return [line.plain for line in excerpt(spot, Look(width=width), label)]


def test_as_compilers_show_it() -> None:
    assert shown(SourceLocation(PLACE, LINE, 22, 7), "did you mean (1 - H * H) ?") == [
        "    case.yaml:14:8",
        "    14 |   dZ1: (dZ2 @ W2.T) * (1 - H)",
        "       |                       ^^^^^^^ did you mean (1 - H * H) ?",
    ]


def test_a_label_that_does_not_fit_stands_below() -> None:
    lines = shown(SourceLocation(PLACE, LINE, 22, 7), "did you mean (1 - H * H) ?", width=50)
    assert lines[2:] == ["       |                       ^^^^^^^", "       | did you mean (1 - H * H) ?"]


def test_what_is_not_known_is_left_out() -> None:
    assert shown(SourceLocation(Place("a.yaml")), "label") == ["    label"]
    assert shown(SourceLocation(PLACE), "label") == ["    case.yaml:14:8", "    label"]
    assert shown(SourceLocation(PLACE, LINE))[2:] == []


@pytest.mark.parametrize("start", [0, 40, 300, 590])
@pytest.mark.parametrize("length", [1, 9, 200])
def test_a_long_line_is_cut_around_what_is_meant(start: int, length: int) -> None:
    line = "".join(chr(97 + i % 26) for i in range(600))
    lines = shown(SourceLocation(PLACE, line, start, length))
    assert all(cell_len(text) <= 80 for text in lines)
    at = lines[2].index("^")
    assert lines[1][at] == line[start]


def test_a_line_may_be_as_long_as_a_file() -> None:
    started = time.process_time()
    lines = shown(SourceLocation(PLACE, "x" * 1_000_000, 500_000, 400_000))
    assert all(cell_len(text) <= 80 for text in lines)
    assert time.process_time() - started < 2


def test_carets_stand_below_wide_and_hidden_characters() -> None:
    _, line, carets = shown(SourceLocation(PLACE, "梯度: x @ \ty", 9, 1))
    assert cell_len(line[: line.rindex("y")]) == carets.index("^")
    assert "\\t" in line
