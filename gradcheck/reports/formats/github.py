"""GitHub workflow annotations, which show at the line in a pull request.

Escaping follows `toolkit/packages/core/src/command.ts` of github.com/actions/toolkit: `%`, CR and LF in messages, and
`:` and `,` too in properties.
"""

from __future__ import annotations

from gradcheck.checks.result import PROBLEM_STATUSES, RunResult
from gradcheck.reports import Look
from gradcheck.reports.located_messages import LocatedMessage, failure_messages, remark_messages
from gradcheck.reports.safe_text import count, for_log, plain
from gradcheck.reports.source_lines import path_in_repository
from gradcheck.reports.summary import summary

#: GitHub shows ten errors a step, and drops the others without a word.
LIMIT = 10


def render(result: RunResult, look: Look) -> str:
    """Return at most ten errors, the worst first; then remarks and summary."""
    found = [
        (PROBLEM_STATUSES.index(case.status), -problem.relative_error, case.name, problem)
        for case in result.cases
        for problem in failure_messages(case)  # of a failed case alone
    ]
    found.sort(key=lambda entry: entry[:2])
    shown = found if len(found) <= LIMIT else found[: LIMIT - 1]
    lines = [_annotation(name, problem) for *_, name, problem in shown]
    if len(shown) < len(found):
        more = count(len(found) - len(shown), "more problem")
        lines.append(f"::error title={_property('gradcheck')}::{_data(f'and {more}; the log has them all')}")
        lines += [for_log(f"{problem.location}: {problem.message}") for *_, problem in found[len(shown) :]]
    told = [(case.name, remark) for case in result.cases for remark in remark_messages(case)]
    lines += [_annotation(name, remark, "notice") for name, remark in told[:LIMIT]]
    return "\n".join([*lines, for_log(summary(result))]) + "\n"


def _annotation(name: str, problem: LocatedMessage, level: str = "error") -> str:
    properties = {"file": plain(path_in_repository(problem.place.file))}
    if problem.place.line:
        properties["line"] = str(problem.place.line)
    if problem.place.column:
        properties["col"] = str(problem.place.column)
        if problem.length:
            properties["endColumn"] = str(problem.place.column + problem.length)
    properties["title"] = plain(name) or "gradcheck"
    joined = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    return f"::{level} {joined}::{_data(problem.message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
