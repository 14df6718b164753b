"""How results show themselves in a notebook. Who draws them is named here, and imported when a notebook asks: what is
found knows nothing of how it is shown."""

from __future__ import annotations

from importlib import import_module

#: Where `html_of(thing)` stands.
RENDERER_MODULE = "gradcheck.reports.notebook"


class NotebookRepr:
    """Something that Jupyter shows as a picture."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        found: str = import_module(RENDERER_MODULE).html_of(self)
        return found
