"""Reports turn a run's result into text. They format what was found and compute nothing of their own."""

from __future__ import annotations

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
    "junit": "gradcheck.reports.formats.junit",
    "github": "gradcheck.reports.formats.github",
}


@dataclass(frozen=True, slots=True)
class Look:
    """How a report for people is laid out: `width` in columns; `verbosity` is 1 for -v, -1 for -q."""

    color: bool = False
    width: int = 80
    verbosity: int = 0


def render(result: RunResult, format: str = "full", look: Look | None = None) -> str:
    """The result as text in one of `FORMATS`, ending in a newline."""
    text: str = import_module(FORMATS[format]).render(result, look or Look())
    return text
