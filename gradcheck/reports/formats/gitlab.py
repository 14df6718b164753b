"""GitLab's code quality report, which shows in the merge request.

https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format
"""

from __future__ import annotations

import json
from typing import Any

from gradcheck.checks.result import CaseResult, RunResult
from gradcheck.reports import Look
from gradcheck.reports.located_messages import Fingerprints, LocatedMessage, located_messages
from gradcheck.reports.source_lines import path_in_repository

_SEVERITY = {"crashed": "blocker", "invalid": "critical", "failed": "major", "xpassed": "minor"}


def render(result: RunResult, look: Look) -> str:
    """Return the list of problems, an entry a line, in ASCII."""
    prints = Fingerprints()
    entries = [
        _entry(case, problem, _SEVERITY[case.status] if is_failure else "info", prints)
        for case, problem, is_failure in located_messages(result)
    ]
    return "[" + ",\n".join(entries) + "]\n"


def _entry(case: CaseResult, problem: LocatedMessage, severity: str, prints: Fingerprints) -> str:
    entry: dict[str, Any] = {
        "check_name": f"gradcheck/{problem.rule}",
        "description": f"{case.name}: {problem.message}" if case.name else problem.message,
        "fingerprint": prints.of(case, problem),
        "severity": severity,
        "location": {"path": path_in_repository(problem.place.file), "lines": {"begin": problem.place.line or 1}},
    }
    return json.dumps(entry)
