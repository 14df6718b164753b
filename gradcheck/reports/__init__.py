"""Reports turn what was found into text: for people, for programs, for other tools.

Every sentence stands in `phrases`. `text` makes text and numbers safe and short, `tensors` shows arrays, `source`
finds the reader's own line and `excerpt` shows it. `findings` puts together what is wrong with a case for one reason,
`causes` what is wrong with a run. `failed` and `passed` tell of a case, `listing`, `overview` and `summary` of the
run; `picture` draws graphs, `page` makes HTML, `notebook` the same for Jupyter. `formats` and `commands` put these
together. Nothing here computes a verdict, and nothing below can import it. A new format goes to `formats`, the report
of a new command to `commands`, a new sentence to `phrases`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gradcheck.checks.result import RunResult

#: Every format, and the module whose `render(result, look)` writes it.
FORMATS: dict[str, str] = {
    "full": "gradcheck.reports.formats.full",
    "concise": "gradcheck.reports.formats.concise",
    "json": "gradcheck.reports.formats.json",
    "json-lines": "gradcheck.reports.formats.json_lines",
    "junit": "gradcheck.reports.formats.junit",
    "github": "gradcheck.reports.formats.github",
    "gitlab": "gradcheck.reports.formats.gitlab",
    "sarif": "gradcheck.reports.formats.sarif",
    "markdown": "gradcheck.reports.formats.markdown",
    "html": "gradcheck.reports.formats.html",
}


@dataclass(frozen=True, slots=True)
class Look:
    """How a report for people is laid out: `width` in columns; `verbosity` is 1 for -v, -1 for -q; so many of the
    slowest cases are named as `durations` says, all for 0."""

    color: bool = False
    width: int = 80
    verbosity: int = 0
    durations: int | None = None


def render(result: RunResult, format: str = "full", look: Look | None = None) -> str:
    """The result as text in one of `FORMATS`, ending in a newline. A case of which something cannot be told costs the
    report that case alone: how it came out is told, and that there was more."""
    chosen = look or Look()
    written: Callable[[RunResult, Look], str] = import_module(FORMATS[format]).render
    try:
        return written(result, chosen)
    except Exception:
        from gradcheck.reports.partial_report import drop_unrenderable

        return written(drop_unrenderable(result, lambda one: written(one, chosen)), chosen)
