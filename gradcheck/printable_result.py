"""Results that print as reports, which are imported on first use."""

from __future__ import annotations

from importlib import import_module
from typing import Any

#: The modules of `html_of(thing)` and of `text_of(thing)`.
HTML_MODULE, TEXT_MODULE = "gradcheck.reports.notebook", "gradcheck.reports.printed"


class PrintableResult:
    """A class that Jupyter shows as HTML, and `print` as a report."""

    __slots__ = ()

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        """Return the last line of the report, for a prompt or an assertion."""
        return f"<{type(self).__name__}: {self.text().splitlines()[-1]}>"

    def _repr_pretty_(self, printer: Any, is_within_itself: bool) -> None:
        """Show the report at the prompt of IPython."""
        printer.text(self.text())

    def _repr_html_(self) -> str:
        return self.html()

    def text(self) -> str:
        """Return it as the terminal shows it, without colour."""
        found: str = import_module(TEXT_MODULE).text_of(self)
        return found

    def html(self) -> str:
        """Return it as HTML."""
        found: str = import_module(HTML_MODULE).html_of(self)
        return found
