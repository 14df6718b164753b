"""The run as JSON, a line a case, each written when the case is done.

The lines are `{"event": "begin", …}`, then `{"event": "case", …}` with the keys of a case of the JSON report, at last
`{"event": "end", …}` with the keys of the document.
"""

from __future__ import annotations

from gradcheck import __version__
from gradcheck.checks.result import CaseResult, RunResult
from gradcheck.reports import Look, drop_unrenderable
from gradcheck.reports.formats.json import SCHEMA, case_record, dump, run_record


def render(result: RunResult, look: Look) -> str:
    """Return all lines."""
    return "".join((begin_line(), *(case_line(case) for case in result.cases), end_line(result)))


def begin_line() -> str:
    return dump({"event": "begin", "schema": SCHEMA, "gradcheck": __version__}) + "\n"


def case_line(case: CaseResult) -> str:
    return dump({"event": "case", **case_record(case)}) + "\n"


def reliable_case_line(case: CaseResult) -> str:
    """Return the line of a case; of one that cannot be rendered, its status."""
    try:
        return case_line(case)
    except Exception:
        alone = RunResult((case,), 0.0, {})
        return case_line(drop_unrenderable(alone, lambda result: case_line(result.cases[0])).cases[0])


def end_line(result: RunResult) -> str:
    return dump({"event": "end", **run_record(result)}) + "\n"
