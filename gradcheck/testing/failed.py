"""What the calls of this room raise: an AssertionError with the report, that a notebook shows as a page does."""

from __future__ import annotations

from typing import Any


class CheckFailed(AssertionError):
    """`result` is what was found."""

    def __init__(self, report: str, result: Any) -> None:
        super().__init__(report)
        self.result = result

    def _repr_html_(self) -> str:
        found: str = self.result._repr_html_()
        return found
