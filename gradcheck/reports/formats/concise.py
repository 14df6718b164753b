"""One line a failure, `file:line:column: message`, for editors and grep."""

from __future__ import annotations

from gradcheck.checks.result import RunResult
from gradcheck.reports import Look
from gradcheck.reports.located_messages import located_messages
from gradcheck.reports.safe_text import plain
from gradcheck.reports.summary import convention_lines, slowest_lines, summary, unsupported_lines


def render(result: RunResult, look: Look) -> str:
    """Return all problems, remarks, and the summary line."""
    lines = []
    for case, problem, _ in located_messages(result):
        name = f"{plain(case.name)}: " if case.name else ""
        lines.append(f"{problem.location}: {name}{problem.message}")
    said = [*convention_lines(result), *unsupported_lines(result), *slowest_lines(result, look.durations)]
    return "\n".join([*lines, *said, summary(result)]) + "\n"
