"""A graph as SVG: values flow down, gradients up.

Each verdict is a colour and a mark. Sizes are attributes and looks are classes, so that a page with a strict policy can
embed the picture; alone it contains its own styles.
"""

from __future__ import annotations

from html import escape
from importlib.resources import files

from gradcheck.reports.palette import css_colours
from gradcheck.reports.picture.diagram import Diagram, DiagramNode
from gradcheck.reports.picture.layout import Box, Layout, compute_layout
from gradcheck.reports.safe_text import short_line

#: The mark of each verdict, and its meaning.
MARKS = {"passed": "✓", "failed": "✗", "faulty": "✗", "follows": "↯", "undecided": "?", "unknown": ""}
MEANINGS = {
    "passed": "all of it agrees",
    "failed": "wrong",
    "faulty": "it goes wrong here",
    "follows": "wrong only because of another",
    "undecided": "undecided",
    "unknown": "nothing was claimed of it",
}
#: Columns of a name and of a text, and the width of a column of each.
_NAME, _TEXT, _COLUMN, _SMALL = 22, 30, 7.9, 6.2
_TALL, _FLAT, _LEAST = 44.0, 42.0, 58.0
#: The offset of lines for values and for gradients to either side.
_EDGE_OFFSET = 5.0


def to_svg(graph: Diagram, *, alone: bool = False, titles: bool = False, label: str = "the graph of the case") -> str:
    """Return the picture, `alone` or for a page; `titles` need no script."""
    layout = compute_layout(graph, [_size(node) for node in graph.nodes])
    room = 26 if graph.omitted_nodes else 0
    size = f'width="{layout.width:g}" height="{layout.height + room:g}"'
    xmlns = ' xmlns="http://www.w3.org/2000/svg"' if alone else ""
    parts = [
        f'<svg{xmlns} class="graph" {size} viewBox="0 0 {layout.width:g} {layout.height + room:g}" role="group"'
        f' aria-label="{escape(short_line(label, 200))}">'
    ]
    if alone:
        parts.append(f"<style>{picture_styles()}</style>")
    parts += edge_paths(graph, layout)
    pairs = zip(graph.nodes, layout.boxes, strict=True)
    parts += [_node(node, box, alone or titles) for node, box in pairs]
    if graph.omitted_nodes:
        text = f"{graph.omitted_nodes:,} further nodes are not drawn"
        parts.append(f'<text class="more" x="8" y="{layout.height + 16:g}">{text}</text>')
    return "".join([*parts, "</svg>"])


def picture_styles() -> str:
    """Return the styles of the picture, with its colours."""
    return css_colours("graph") + files("gradcheck.reports").joinpath("page/static/graph.css").read_text(
        encoding="utf-8"
    )


def _size(node: DiagramNode) -> tuple[float, float]:
    name, text = short_line(node.name, _NAME), short_line(node.text, _TEXT)
    width = max(_LEAST, len(name) * _COLUMN + 46, len(text) * _SMALL + 20)
    return round(width), _TALL if node.text else _FLAT - 12


def _node(node: DiagramNode, box: Box, titled: bool) -> str:
    left, top = box.x - box.width / 2, box.y - box.height / 2
    classes = f"node {node.kind} {node.verdict}{' root' if node.is_root else ''}"
    about = f"{short_line(node.name, 60)}: {MEANINGS[node.verdict]}"
    told = "\n".join((about, *(short_line(one, 160) for one in node.details)))
    parts = [f'<g class="{classes}" tabindex="0" role="img" aria-label="{escape(told)}">']
    if titled:
        parts.append(f"<title>{escape(told)}</title>")
    if node.verdict == "faulty":
        parts.append(_rect("ring", left - 4, top - 4, box.width + 8, box.height + 8, 12))
    rounding = box.height / 2 if node.kind != "entry" else 8
    parts.append(_rect("box", left, top, box.width, box.height, rounding))
    lift = -4 if node.text else 4
    mark = MARKS[node.verdict]
    parts.append(f'<text class="name" x="{box.x:g}" y="{box.y + lift:g}">{escape(short_line(node.name, _NAME))}</text>')
    if node.text:
        text = escape(short_line(node.text, _TEXT))
        parts.append(f'<text class="text" x="{box.x:g}" y="{box.y + 13:g}">{text}</text>')
    if mark:
        x = left + box.width - 12
        parts.append(f'<text class="mark" x="{x:g}" y="{top + 14:g}">{mark}</text>')
    return "".join([*parts, "</g>"])


def _rect(name: str, x: float, y: float, width: float, height: float, rounding: float) -> str:
    return f'<rect class="{name}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{rounding:g}"/>'


def edge_paths(graph: Diagram, layout: Layout) -> list[str]:
    """Return a line for each value, and one for its gradient if there is one."""
    parts: list[str] = []
    for number, (edge, lanes) in enumerate(zip(graph.edges, layout.lanes, strict=True)):
        above, below = layout.boxes[edge.source], layout.boxes[edge.target]
        source, target = graph.nodes[edge.source], graph.nodes[edge.target]
        returns = graph.returns_gradient(edge)
        by = _EDGE_OFFSET if returns else 0.0
        parts.append(f'<path class="value" d="{_edge_path(above, below, lanes, -by)}"/>')
        if returns:
            is_bad = {source.verdict, target.verdict} <= {"faulty", "failed", "follows"}
            style = "gradient bad" if is_bad else "gradient"
            way = _edge_path(above, below, lanes, by, back=True)
            parts.append(f'<path class="{style}" data-edge="{number}" d="{way}"/>')
        if edge.times > 1:
            x, y = (lanes[-1][0], lanes[-1][1]) if lanes else ((above.x + below.x) / 2, (above.y + below.y) / 2)
            x, y = x + 9, y + 4
            parts.append(f'<text class="times" x="{x:g}" y="{y:g}">×{edge.times}</text>')
    return parts


def _edge_path(
    above: Box, below: Box, lanes: tuple[tuple[float, float, float], ...], by: float, back: bool = False
) -> str:
    """Return a smooth line past other boxes, with an arrowhead at its end."""
    x, y = _num(above.x + by), _num(above.y + above.height / 2)
    parts = [f"M{x} {y}"]
    at = above.y + above.height / 2
    stops = [(lane[0] + by, lane[1], lane[2]) for lane in lanes]
    stops.append((below.x + by, below.y - below.height / 2, below.y - below.height / 2))
    start = above.x + by
    for place, top, bottom in stops:
        middle = _num((at + top) / 2)
        parts.append(f"C{_num(start)} {middle} {_num(place)} {middle} {_num(place)} {_num(top)}")
        if bottom > top:
            parts.append(f"V{_num(bottom)}")
        start, at = place, bottom
    tip, end, side = (above.x + by, above.y + above.height / 2, 6) if back else (start, at, -6)
    parts.append(f"M{_num(tip - 4)} {_num(end + side)}L{_num(tip)} {_num(end)}L{_num(tip + 4)} {_num(end + side)}")
    return "".join(parts)


def _num(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")
