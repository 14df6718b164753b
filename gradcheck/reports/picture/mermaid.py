"""A graph in Mermaid, which GitHub and many editors draw in Markdown."""

from __future__ import annotations

import re

from gradcheck.reports.palette import VERDICT_COLOURS, light
from gradcheck.reports.picture.diagram import Diagram, DiagramNode, nearest_nodes
from gradcheck.reports.picture.svg import MARKS
from gradcheck.reports.safe_text import short_line

#: Characters that a label writes by number: all but letters, digits and blanks.
_SPECIAL_CHARACTERS = re.compile(r"[^\w ]", re.ASCII)
#: The longest text, and the most edges, that Mermaid draws.
MOST_CHARACTERS, MOST_EDGES = 50_000, 500
_SHAPES = {"input": ("([", "])"), "constant": ("([", "])"), "entry": ("[", "]")}
_LOOKS = {
    **{
        verdict: f"fill:{light(f'{name}-soft')},stroke:{light(name)},color:{light('ink')}"
        for verdict, name in VERDICT_COLOURS.items()
        if verdict != "unknown"
    },
    "constant": "stroke-dasharray:4 3",
    "root": "stroke-width:3px",
}
_LOOKS["faulty"] += ",stroke-width:4px"


def to_mermaid(graph: Diagram) -> str:
    """Return the diagram, of as many nodes as Mermaid draws."""
    most = len(graph.nodes)
    while True:
        text = _text(graph)
        if most <= 1 or (len(text) <= MOST_CHARACTERS and len(graph.edges) <= MOST_EDGES):
            return text
        most = most * 3 // 4
        graph = nearest_nodes(graph, most)


def _text(graph: Diagram) -> str:
    """Return a line for each value, with two heads if a gradient comes back."""
    # separate lines for gradients would turn the order of the layers over
    lines = ["flowchart TD"]
    for at, node in enumerate(graph.nodes):
        before, after = _SHAPES[node.kind]
        mark = f"{MARKS[node.verdict]} " if MARKS[node.verdict] else ""
        text = f"<br/>{_escaped(short_line(node.text, 60))}" if node.text else ""
        lines.append(f'  n{at}{before}"{mark}{_escaped(short_line(node.name, 60))}{text}"{after}')
    for edge in graph.edges:
        times = f'|"×{edge.times}"|' if edge.times > 1 else ""
        lines.append(f"  n{edge.source} {'<-->' if graph.returns_gradient(edge) else '-->'}{times} n{edge.target}")
    if graph.omitted_nodes:
        lines.append(f'  more>"{graph.omitted_nodes} further nodes are not drawn"]')
    for name, look in _LOOKS.items():
        named = [f"n{at}" for at, node in enumerate(graph.nodes) if name in _classes(node)]
        if named:
            lines += [f"  classDef {name} {look}", f"  class {','.join(named)} {name}"]
    return "\n".join(lines) + "\n"


def _classes(node: DiagramNode) -> tuple[str, ...]:
    return node.verdict, node.kind, "root" if node.is_root else ""


def _escaped(text: str) -> str:
    return _SPECIAL_CHARACTERS.sub(lambda match: f"#{ord(match[0])};", text)
