"""The output of `gradcheck graph`: a case's graph as a picture."""

from __future__ import annotations

from collections.abc import Callable

from gradcheck.language.case import Case
from gradcheck.reports.picture import dot, mermaid, svg
from gradcheck.reports.picture.diagram import Diagram, diagram_of_case, nearest_nodes

#: The most nodes that are drawn.
MOST_NODES = 2000


def _svg(graph: Diagram) -> str:
    return svg.to_svg(graph, alone=True) + "\n"


NOTATIONS: dict[str, Callable[[Diagram], str]] = {"svg": _svg, "mermaid": mermaid.to_mermaid, "dot": dot.to_dot}


def render(case: Case, format: str) -> str:
    """Return the picture in one of `NOTATIONS`, ending in a newline."""
    return NOTATIONS[format](nearest_nodes(diagram_of_case(case), MOST_NODES))
