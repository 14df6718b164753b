"""The run as JSON, a line a case, each as it is done: `{"event": "begin", …}`, then `{"event": "case", …}` with the
keys of a case of the JSON report, at last `{"event": "end", …}` with those of the document."""

from __future__ import annotations

from gradcheck import __version__
from gradcheck.checks.result import CaseResult, RunResult
from gradcheck.reports import Look
from gradcheck.reports.formats.json import SCHEMA, dump, head, of_case


def render(result: RunResult, look: Look) -> str:
    """All lines, as they would have come one after another."""
    return "".join((begin(), *(line(case) for case in result.cases), end(result)))


def begin() -> str:
    """The first line."""
    return dump({"event": "begin", "schema": SCHEMA, "gradcheck": __version__}) + "\n"


def line(case: CaseResult) -> str:
    """That of a case."""
    return dump({"event": "case", **of_case(case)}) + "\n"


def streamed(case: CaseResult) -> str:
    """That of a case of which perhaps not everything can be told."""
    try:
        return line(case)
    except Exception:
        from gradcheck.reports.partial_report import without_untold

        alone = RunResult((case,), 0.0, {})
        return line(without_untold(alone, lambda result: line(result.cases[0])).cases[0])


def end(result: RunResult) -> str:
    """The last line."""
    return dump({"event": "end", **head(result)}) + "\n"
