"""Reports turn what a run found into text for people, programs and tools.

Every sentence stands in `phrases`, every number format in `number_formats`, every colour in `palette`. `safe_text`
makes text safe and short, `tensors` shows arrays, `source_lines` finds the reader's own line and `excerpt` shows it.
`findings` groups the comparisons of a case that fail for one reason, `causes` the findings of a run. `failed_case` and
`passed_case` describe a case; `case_list`, `overview` and `summary` describe the run. `picture` draws graphs, `page`
makes HTML, `notebook` the same for Jupyter. `formats` and `commands` combine these. Nothing here computes a verdict,
and nothing below imports this package. A new format goes to `formats`, the report of a new command to `commands`, a new
sentence to `phrases`.
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
    """The layout of a report for people.

    `width` is in columns; `verbosity` is 1 for -v and -1 for -q. `durations` is how many of the slowest cases are
    named, 0 for all.
    """

    color: bool = False
    width: int = 80
    verbosity: int = 0
    durations: int | None = None


def render(result: RunResult, format: str = "full", look: Look | None = None) -> str:
    """Return the result in one of `FORMATS`; a broken case gives its status."""
    chosen = look or Look()
    written: Callable[[RunResult, Look], str] = import_module(FORMATS[format]).render
    try:
        return written(result, chosen)
    except Exception:
        from gradcheck.reports.partial_report import drop_unrenderable

        return written(drop_unrenderable(result, lambda one: written(one, chosen)), chosen)
