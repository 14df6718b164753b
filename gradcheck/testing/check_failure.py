"""The AssertionError of this package, with a report and a notebook view."""

from __future__ import annotations

import sys
from dataclasses import replace
from importlib import import_module
from typing import Any

from gradcheck.checks.result import CaseResult, Reproduction
from gradcheck.tracebacks import frames_of


def with_snippet(found: CaseResult, text: str) -> CaseResult:
    """Return the result with its call as Python, if any."""
    return replace(found, smallest=Reproduction("", 0, text)) if text else found


class CheckFailed(AssertionError):
    """An assertion that failed; `result` is the result of the check."""

    def __init__(self, report: str, result: Any) -> None:
        super().__init__(report)
        self.result = result
        self._shown_in: int | None = None  # the number of the cell below which it stands

    def _repr_html_(self) -> str:
        found: str = self.result._repr_html_()
        return found

    def _repr_pretty_(self, printer: Any, is_within_itself: bool) -> None:
        printer.text(str(self))

    def _render_traceback_(self) -> list[str]:
        """Return IPython's lines: the call, and in a terminal the report."""
        called = next((frame.line for frame in frames_of(self)[1:] if frame.line), "")
        lines = str(self).rstrip().splitlines()
        shell = sys.modules["IPython"].get_ipython()
        if not hasattr(shell, "kernel"):
            return [f"{type(self).__name__}: {called}", *lines]
        if self._shown_in != shell.execution_count:  # IPython asks once more, for its history
            self._shown_in = shell.execution_count
            import_module("IPython.display").display(self)
        return [f"{type(self).__name__}: {called}", *lines[-1:]]
