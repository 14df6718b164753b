"""A graph in DOT, for Graphviz."""

from __future__ import annotations

from gradcheck.reports.picture.diagram import Diagram, short_line
from gradcheck.reports.picture.svg import MARKS

_SHAPES = {"input": "shape=ellipse", "constant": 'shape=box, style="rounded,dashed"', "entry": "shape=box"}
_COLORS = {
    "failed": "#b3410e",
    "faulty": "#b3410e",
    "follows": "#a06a00",
    "undecided": "#6a4a9c",
    "passed": "#1f6fb2",
    "unknown": "#606870",
}


def to_dot(graph: Diagram) -> str:
    """Return a digraph: values are solid lines, gradients dashed ones back."""
    lines = ["digraph case {", '  node [fontname="Helvetica", style=rounded];']
    for at, node in enumerate(graph.nodes):
        mark = f"{MARKS[node.verdict]} " if MARKS[node.verdict] else ""
        label = f"{mark}{_escaped(short_line(node.name, 60))}" + (
            f"\\n{_escaped(short_line(node.text, 60))}" if node.text else ""
        )
        wide = ", penwidth=3" if node.verdict == "faulty" else ", penwidth=2" if node.is_root else ""
        color = _COLORS[node.verdict]
        lines.append(f'  n{at} [label="{label}", {_SHAPES[node.kind]}, color="{color}"{wide}];')
    for edge in graph.edges:
        times = f' [label="×{edge.times}"]' if edge.times > 1 else ""
        lines.append(f"  n{edge.source} -> n{edge.target}{times};")
        if graph.nodes[edge.source].needs_gradient and graph.nodes[edge.target].needs_gradient:
            lines.append(f"  n{edge.target} -> n{edge.source} [style=dashed, constraint=false];")
    if graph.omitted_nodes:
        lines.append(f'  more [label="{graph.omitted_nodes} further nodes are not drawn", shape=plaintext];')
    return "\n".join([*lines, "}"]) + "\n"


def _escaped(text: str) -> str:
    """Escape backslashes, quotes and ampersands for a label."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;")
