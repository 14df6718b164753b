"""A page: one file with every cause, every case, and pictures."""

from __future__ import annotations

from gradcheck.checks.result import RunResult
from gradcheck.reports import Look
from gradcheck.reports.page.run_page import render_run_page


def render(result: RunResult, look: Look) -> str:
    """Return the page, ending in a newline; it is the same for any look."""
    return render_run_page(result)
