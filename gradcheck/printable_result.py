"""Results that print as reports, which are imported on first use."""

from __future__ import annotations

from importlib import import_module

#: The modules of `html_of(thing)` and of `text_of(thing)`.
HTML_MODULE, TEXT_MODULE = "gradcheck.reports.notebook", "gradcheck.reports.printed"


class PrintableResult:
    """A class that Jupyter shows as HTML, and `print` as a report."""

    __slots__ = ()

    def __str__(self) -> str:
        return self.text()

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
