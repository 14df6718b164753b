"""Reports turn what a run found into text for people, programs and tools.

Every sentence stands in `phrases`, every colour in `palette`, every number format in `number_formats`, but for those of
tables, which `tensors` chooses. `safe_text` makes text safe and short, `tensors` shows arrays, `source_lines` finds the
reader's own line and `excerpt` shows it. `causes` groups the comparisons of a case that fail for one reason, and such
findings of a run. `failed_case` and `passed_case` describe a case; `overview` and `summary` describe
the run. `picture` draws graphs, `page` makes HTML, `notebook` the same for Jupyter. `formats` and `commands` combine
these. Nothing here computes a verdict, and nothing below imports this package. A new format goes to `formats`, the
report of a new command to `commands`, a new sentence to `phrases`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gradcheck.checks.result import CaseResult, Failure, RunResult


#: The first line of a file of text.
TEXT_MARK = "# a report of gradcheck\n"


@dataclass(frozen=True, slots=True)
class Format:
    """A format: the module whose `render(result, look)` writes it.

    `begins` matches the beginning of its files. Text gets a line for it: other tools end with the same summary.
    """

    module: str
    begins: str = TEXT_MARK
    for_people: bool = False


_MARK = r"\s*(<!DOCTYPE html>\s*)?<!-- a report of gradcheck -->"
_SARIF = r'\s*\{"\$schema": "[^"]*sarif[^"]*", "version": [^{]*\{"tool": \{"driver": \{"name": "gradcheck"'
FORMATS = {
    "full": Format("full", for_people=True),
    "concise": Format("concise", for_people=True),
    "json": Format("json", r'\s*\{"schema": \d+, "gradcheck": '),
    "json-lines": Format("json_lines", r'\s*\{"event": "begin", "schema": \d+, "gradcheck": '),
    "junit": Format("junit", r'\s*(<\?xml[^>]*>)?\s*<testsuites name="gradcheck"'),
    "github": Format("github"),
    "gitlab": Format("gitlab", r'\s{0,9}\[(\{"check_name": "gradcheck/|\]\s{0,9}$)'),
    "sarif": Format("sarif", _SARIF),
    "markdown": Format("markdown", _MARK, for_people=True),
    "html": Format("html", _MARK),
}
#: The characters at the beginning of a file that `is_report` examines.
PROBE_SIZE = 4096


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
    module = import_module(f"gradcheck.reports.formats.{FORMATS[format].module}")
    written: Callable[[RunResult, Look], str] = module.render
    try:
        return written(result, chosen)
    except Exception:
        return written(drop_unrenderable(result, lambda one: written(one, chosen)), chosen)


def drop_unrenderable(result: RunResult, tell: Callable[[RunResult], object]) -> RunResult:
    """Reduce each case that `tell` cannot render to its status, with a remark."""
    from gradcheck.checks.isolation.failure_capture import try_part

    def reduced(case: CaseResult) -> CaseResult:
        lost: list[Failure] = []
        try_part("report", lambda: tell(replace(result, cases=(case,))), lost)
        if not lost:
            return case
        return replace(case, comparisons=(), smallest=None, power=None, output={}, incomplete=tuple(lost))

    return replace(result, cases=tuple(map(reduced, result.cases)))


def render_file(result: RunResult, format: str, look: Look) -> str:
    """Return the result in one of `FORMATS`, as `is_report` recognises it."""
    text = render(result, format, look)
    return TEXT_MARK + text if FORMATS[format].begins == TEXT_MARK else text


def is_report(begin: str) -> bool:
    """Return whether a file with this beginning is a report of gradcheck."""
    import re  # here, since most runs write no file

    return any(re.match(one.begins, begin) for one in FORMATS.values())
