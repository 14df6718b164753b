"""Lines of a report for people: indented, wrapped to its width, coloured, and put out."""

from __future__ import annotations

from io import StringIO

from rich.color import ColorSystem
from rich.console import Console
from rich.text import Text

from gradcheck.checks.result import CaseStatus
from gradcheck.reports import Look
from gradcheck.reports.text import wrap

#: How a case came out, in a word, and its style.
WORDS: dict[CaseStatus, tuple[str, str]] = {
    "passed": ("ok", "green"),
    "failed": ("FAIL", "bold red"),
    "invalid": ("INVALID", "bold red"),
    "crashed": ("CRASH", "bold red"),
    "skipped": ("skip", "yellow"),
    "xfailed": ("xfail", "yellow"),
    "xpassed": ("XPASS", "bold red"),
    "unsupported": ("unsup", "yellow"),
}


def indented(text: str, look: Look, indent: int = 2, hanging: int | None = None, style: str = "") -> list[Text]:
    """The text in lines, the first behind `indent` blanks, the others behind `hanging`; two more, if that is None."""
    further = " " * (indent + 2 if hanging is None else hanging)
    return [Text(line, style=style) for line in wrap(text, look.width, " " * indent, further)]


def output(lines: list[Text], look: Look) -> str:
    """The lines as they are, with colour or without; rich must neither wrap nor interpret them."""
    if not look.color:
        return "".join(line.plain.rstrip() + "\n" for line in lines)
    console = Console(file=StringIO(), color_system="standard", force_terminal=True)
    pieces = []
    for line in lines:
        line.rstrip()
        line.stylize_before(line.style)  # `render` sees the styles of parts alone
        for segment in line.render(console, end="\n"):
            style = segment.style
            pieces.append(style.render(segment.text, color_system=ColorSystem.STANDARD) if style else segment.text)
    return "".join(pieces)
