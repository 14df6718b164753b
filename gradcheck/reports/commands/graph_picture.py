"""`gradcheck graph`: the graph of a case as a picture, in a notation that others draw."""

from __future__ import annotations

from collections.abc import Callable

from gradcheck.language.case import Case
from gradcheck.reports.picture import dot, mermaid, svg
from gradcheck.reports.picture.diagram import Graph, nearest, of_case

#: What is not drawn of a larger graph: no picture of it tells anything.
MOST_NODES = 2000


def _svg(graph: Graph) -> str:
    return svg.drawn(graph, alone=True) + "\n"


NOTATIONS: dict[str, Callable[[Graph], str]] = {"svg": _svg, "mermaid": mermaid.drawn, "dot": dot.drawn}


def render(case: Case, format: str) -> str:
    """The picture in one of `NOTATIONS`, ending in a newline."""
    return NOTATIONS[format](nearest(of_case(case), MOST_NODES))
