"""What the calls of this room raise: an AssertionError with the report, that a notebook shows as a page does."""

from __future__ import annotations

import sys
import traceback
from dataclasses import replace
from importlib import import_module
from typing import Any

from gradcheck.checks.result import CaseResult, Reproduction

#: So many characters of Python are shown: what is longer nobody reads.
_MOST_SHOWN = 6000


def with_snippet(found: CaseResult, text: str) -> CaseResult:
    """The result with its call as Python, where that is short enough to be read."""
    return replace(found, smallest=Reproduction("", 0, text)) if 0 < len(text) <= _MOST_SHOWN else found


class CheckFailed(AssertionError):
    """`result` is what was found."""

    def __init__(self, report: str, result: Any) -> None:
        super().__init__(report)
        self.result = result

    def _repr_html_(self) -> str:
        found: str = self.result._repr_html_()
        return found

    def _render_traceback_(self) -> list[str]:
        """The lines that IPython shows where this ends a cell: in a notebook the call alone, behind the picture of what
        was found; in a terminal the report."""
        called = next((frame.line for frame in traceback.extract_tb(self.__traceback__)[1:] if frame.line), "")
        lines = str(self).rstrip().splitlines()
        if not hasattr(sys.modules["IPython"].get_ipython(), "kernel"):
            return [f"{type(self).__name__}: {called}", *lines]
        import_module("IPython.display").display(self)
        return [f"{type(self).__name__}: {called}", *lines[-1:]]
