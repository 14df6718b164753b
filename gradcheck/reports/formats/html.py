"""A page to look at: one file that opens from a disk, with every cause, every case, and pictures of what is wrong."""

from __future__ import annotations

from gradcheck.checks.result import RunResult
from gradcheck.reports import Look


def render(result: RunResult, look: Look) -> str:
    """The page, ending in a newline. It is the same for any look."""
    from gradcheck.reports.page.run_page import (
        render_run_page,
    )  # here, since jinja2 is loaded only where a render_run_page is asked for

    return render_run_page(result)
