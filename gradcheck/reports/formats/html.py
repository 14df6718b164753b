"""A page: one file with every cause, every case, and pictures."""

from __future__ import annotations

from gradcheck.checks.result import RunResult
from gradcheck.reports import Look


def render(result: RunResult, look: Look) -> str:
    """Return the page, ending in a newline; it is the same for any look."""
    from gradcheck.reports.page.run_page import (
        render_run_page,
    )  # here, since jinja2 is loaded for pages only

    return render_run_page(result)
