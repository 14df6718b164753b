"""The output of `gradcheck graph`: a case's graph as SVG, Mermaid or DOT."""

from __future__ import annotations

import re
from collections.abc import Callable

from gradcheck.language.case import Case
from gradcheck.reports.palette import VERDICT_COLOURS, light
from gradcheck.reports.picture.diagram import Diagram, DiagramNode, diagram_of_case, nearest_nodes
from gradcheck.reports.picture.svg import MARKS, to_svg
from gradcheck.reports.safe_text import short_line

#: The most nodes that are drawn.
MOST_NODES = 2000
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
_DOT_SHAPES = {"input": "shape=ellipse", "constant": 'shape=box, style="rounded,dashed"', "entry": "shape=box"}


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


def to_dot(graph: Diagram) -> str:
    """Return a digraph: values are solid lines, gradients dashed ones back."""
    lines = ["digraph case {", '  node [fontname="Helvetica", style=rounded];']
    for at, node in enumerate(graph.nodes):
        mark = f"{MARKS[node.verdict]} " if MARKS[node.verdict] else ""
        label = f"{mark}{_escaped_dot(short_line(node.name, 60))}" + (
            f"\\n{_escaped_dot(short_line(node.text, 60))}" if node.text else ""
        )
        wide = ", penwidth=3" if node.verdict == "faulty" else ", penwidth=2" if node.is_root else ""
        color = light(VERDICT_COLOURS[node.verdict])
        lines.append(f'  n{at} [label="{label}", {_DOT_SHAPES[node.kind]}, color="{color}"{wide}];')
    for edge in graph.edges:
        times = f' [label="×{edge.times}"]' if edge.times > 1 else ""
        lines.append(f"  n{edge.source} -> n{edge.target}{times};")
        if graph.returns_gradient(edge):
            lines.append(f"  n{edge.target} -> n{edge.source} [style=dashed, constraint=false];")
    if graph.omitted_nodes:
        lines.append(f'  more [label="{graph.omitted_nodes} further nodes are not drawn", shape=plaintext];')
    return "\n".join([*lines, "}"]) + "\n"


def _escaped_dot(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;")


NOTATIONS: dict[str, Callable[[Diagram], str]] = {
    "svg": lambda graph: to_svg(graph, alone=True) + "\n",
    "mermaid": to_mermaid,
    "dot": to_dot,
}


def render(case: Case, format: str) -> str:
    """Return the picture in one of `NOTATIONS`, ending in a newline."""
    return NOTATIONS[format](nearest_nodes(diagram_of_case(case), MOST_NODES))
