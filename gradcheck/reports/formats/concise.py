"""One line a failure, `file:line:column: message`, for editors and grep; then the summary."""

from __future__ import annotations

from gradcheck.checks.result import RunResult
from gradcheck.reports import Look
from gradcheck.reports.located_messages import problems, remarks
from gradcheck.reports.summary import convention_lines, lacking_lines, slowest_lines, summary
from gradcheck.reports.safe_text import plain


def render(result: RunResult, look: Look) -> str:
    """Every problem of every case, what is told of it besides, and the summary line."""
    lines = []
    for case in result.cases:
        name = f"{plain(case.name)}: " if case.name else ""
        lines += [f"{problem.location}: {name}{problem.message}" for problem in (*problems(case), *remarks(case))]
    said = [*convention_lines(result), *lacking_lines(result), *slowest_lines(result, look.durations)]
    return "\n".join([*lines, *said, summary(result)]) + "\n"
