"""A graph in DOT, for Graphviz."""

from __future__ import annotations

from gradcheck.reports.palette import VERDICT_COLOURS, light
from gradcheck.reports.picture.diagram import Diagram
from gradcheck.reports.picture.svg import MARKS
from gradcheck.reports.safe_text import short_line

_SHAPES = {"input": "shape=ellipse", "constant": 'shape=box, style="rounded,dashed"', "entry": "shape=box"}


def to_dot(graph: Diagram) -> str:
    """Return a digraph: values are solid lines, gradients dashed ones back."""
    lines = ["digraph case {", '  node [fontname="Helvetica", style=rounded];']
    for at, node in enumerate(graph.nodes):
        mark = f"{MARKS[node.verdict]} " if MARKS[node.verdict] else ""
        label = f"{mark}{_escaped(short_line(node.name, 60))}" + (
            f"\\n{_escaped(short_line(node.text, 60))}" if node.text else ""
        )
        wide = ", penwidth=3" if node.verdict == "faulty" else ", penwidth=2" if node.is_root else ""
        color = light(VERDICT_COLOURS[node.verdict])
        lines.append(f'  n{at} [label="{label}", {_SHAPES[node.kind]}, color="{color}"{wide}];')
    for edge in graph.edges:
        times = f' [label="×{edge.times}"]' if edge.times > 1 else ""
        lines.append(f"  n{edge.source} -> n{edge.target}{times};")
        if graph.returns_gradient(edge):
            lines.append(f"  n{edge.target} -> n{edge.source} [style=dashed, constraint=false];")
    if graph.omitted_nodes:
        lines.append(f'  more [label="{graph.omitted_nodes} further nodes are not drawn", shape=plaintext];')
    return "\n".join([*lines, "}"]) + "\n"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;")
