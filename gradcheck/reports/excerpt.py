"""A line of a case file with a part underlined, as compilers show it."""

from __future__ import annotations

from rich.cells import cell_len
from rich.text import Text

from gradcheck.reports import Look
from gradcheck.reports.palette import FAILURE, PLACE
from gradcheck.reports.safe_text import format_place, plain, wrap
from gradcheck.reports.source_lines import SourceLocation

#: Columns before the excerpt, and those of a long line before the marked part.
_INDENT, _BEFORE = 4, 16
#: The most characters in a column: a letter with its accents.
_MOST = 4


def excerpt(spot: SourceLocation, look: Look, label: str = "", style: str = "") -> list[Text]:
    """Return the place, the line, and carets with a label beside or below."""
    lines = [Text.assemble(" " * _INDENT, (format_place(spot.place), PLACE))] if spot.place.line else []
    if not (lines and spot.line):
        return lines + _label_lines(label, look, " " * _INDENT, style)
    number = str(spot.place.line)
    gutter = " " * _INDENT + " " * len(number) + " | "
    before, meant, after = _split_line(spot, look.width - len(gutter))
    lines.append(Text.assemble(" " * _INDENT, (f"{number} | ", "dim"), before, (meant, "bold"), after))
    if not meant:
        return lines + _label_lines(label, look, gutter, style)
    start = len(gutter) + cell_len(before)
    carets = "^" * max(1, cell_len(meant))
    beside = start + len(carets) + 1 + cell_len(label) <= look.width
    pad = " " * cell_len(before)
    marked = Text.assemble((gutter, "dim"), pad, (carets, FAILURE))
    if label and beside:
        marked.append(" " + label, style)
    return [*lines, marked, *([] if beside else _label_lines(label, look, gutter, style))]


def _label_lines(label: str, look: Look, indent: str, style: str) -> list[Text]:
    return [Text(line, style=style) for line in wrap(label, look.width, indent, indent + "  ")] if label else []


def _split_line(spot: SourceLocation, width: int) -> tuple[str, str, str]:
    """Return the line before, in and after the marked part, cut to the width."""
    line, start, end = spot.line.rstrip(), spot.start, spot.start + spot.length
    before, meant, after = (plain(text) for text in (line[:start], line[start:end], line[end:]))
    if cell_len(before + meant + after) <= width:
        return before, meant, after
    if cell_len(before + meant) > width - 1 and len(before) > _BEFORE:
        before = "…" + before[1 - _BEFORE :]
    meant = _cut(meant, width - cell_len(before))
    return before, meant, _cut(after, width - cell_len(before + meant))


def _cut(text: str, room: int) -> str:
    """Return the beginning of a text that fits; zero-width characters are few."""
    begin = text[: max(0, room) * _MOST]
    if begin == text and cell_len(text) <= room:
        return text
    while begin and cell_len(begin) > room - 1:
        begin = begin[:-1]
    return begin + "…" if room > 0 else ""
