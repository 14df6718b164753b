"""The notebook view of results, whose renderer is imported on first use."""

from __future__ import annotations

from importlib import import_module

#: The module of `html_of(thing)`.
RENDERER_MODULE = "gradcheck.reports.notebook"


class NotebookRepr:
    """A class that Jupyter shows as HTML."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        found: str = import_module(RENDERER_MODULE).html_of(self)
        return found
