"""A graph as SVG: values flow down, gradients up.

Each verdict is a colour and a mark. Sizes are attributes and looks are classes, so that a page with a strict policy can
embed the picture; alone it contains its own styles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from itertools import accumulate, pairwise

from gradcheck.reports.palette import css_colours
from gradcheck.reports.picture.diagram import Diagram, DiagramNode, Edge
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
#: Between boxes of a layer, and between layers; around all; the width of a lane.
GAP, LAYER_GAP, MARGIN, LANE = 26.0, 52.0, 14.0, 8.0
#: How often orders and positions are improved.
_SWEEPS = 8
#: The most lanes; edges of a larger graph are straight.
_MOST_LANES = 1500


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
        styles = files("gradcheck.reports").joinpath("page/static/graph.css").read_text(encoding="utf-8")
        parts.append(f"<style>{css_colours('graph')}{styles}</style>")
    parts += edge_paths(graph, layout)
    pairs = zip(graph.nodes, layout.boxes, strict=True)
    parts += [_node(node, box, alone or titles) for node, box in pairs]
    if graph.omitted_nodes:
        text = f"{graph.omitted_nodes:,} further nodes are not drawn"
        parts.append(f'<text class="more" x="8" y="{layout.height + 16:g}">{text}</text>')
    return "".join([*parts, "</svg>"])


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


@dataclass(frozen=True, slots=True)
class Box:
    """The middle of a node, and its size."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Layout:
    """A box for each node, lanes `(x, top, bottom)` of each edge, the size."""

    boxes: tuple[Box, ...]
    lanes: tuple[tuple[tuple[float, float, float], ...], ...]
    width: float
    height: float


def compute_layout(graph: Diagram, sizes: Sequence[tuple[float, float]]) -> Layout:
    """Return boxes of these sizes (width, height), one for each node.

    The order within layers is found by barycentres (Sugiyama, Tagawa & Toda 1981); positions are as near to the middle
    of the neighbours as boxes that do not overlap can be, by pooling adjacent violators (isotonic regression)."""
    if not graph.nodes:
        return Layout((), (), 2 * MARGIN, 2 * MARGIN)
    ranks = _ranks(graph)
    layered = _LayeredGraph(graph, ranks, sizes)
    layered.improve()
    return layered.layout(graph)


def _ranks(graph: Diagram) -> list[int]:
    """Return the longest path from above; sources move down to their users."""
    ranks = [0] * len(graph.nodes)
    first: dict[int, int] = {}
    made = {edge.target for edge in graph.edges}
    for edge in sorted(graph.edges, key=lambda edge: edge.target):  # makers precede their results
        ranks[edge.target] = max(ranks[edge.target], ranks[edge.source] + 1)
    for edge in graph.edges:
        first[edge.source] = min(first.get(edge.source, ranks[edge.target]), ranks[edge.target])
    ranks = [first[at] - 1 if at in first and at not in made else rank for at, rank in enumerate(ranks)]
    least = min(ranks)
    return [rank - least for rank in ranks]


class _LayeredGraph:
    """Nodes, then lanes, each in a layer; `up` and `down` are neighbours."""

    def __init__(self, graph: Diagram, ranks: list[int], sizes: Sequence[tuple[float, float]]) -> None:
        self.sizes = list(sizes)
        self.layers: list[list[int]] = [[] for _ in range(max(ranks) + 1)]
        for at, rank in enumerate(ranks):
            self.layers[rank].append(at)
        self.up: list[list[int]] = [[] for _ in ranks]
        self.down: list[list[int]] = [[] for _ in ranks]
        spans = sum(ranks[edge.target] - ranks[edge.source] - 1 for edge in graph.edges)
        self.lanes = [self._lanes(edge, ranks, spans <= _MOST_LANES) for edge in graph.edges]
        self.places = [0.0] * len(self.sizes)

    def _lanes(self, edge: Edge, ranks: list[int], wanted: bool) -> list[int]:
        """Return the lanes of an edge, and note which nodes are neighbours."""
        lanes: list[int] = []
        for rank in range(ranks[edge.source] + 1, ranks[edge.target]) if wanted else ():
            lanes.append(len(self.sizes))
            self.layers[rank].append(len(self.sizes))
            self.sizes.append((LANE, 0.0))
            self.up.append([])
            self.down.append([])
        way = [edge.source, *lanes, edge.target]
        for above, below in pairwise(way):
            self.down[above].append(below)
            self.up[below].append(above)
        return lanes

    def improve(self) -> None:
        """Improve orders and positions, from above and from below in turns."""
        for layer in self.layers:
            self._place_layer(layer, [0.0] * len(layer))
        for _ in range(_SWEEPS):
            for layer in self.layers[1:]:
                self._order_layer(layer, self.up)
            for layer in reversed(self.layers[:-1]):
                self._order_layer(layer, self.down)

    def _order_layer(self, layer: list[int], nearby: list[list[int]]) -> None:
        places = self.places
        wanted = {
            at: sum(places[one] for one in nearby[at]) / len(nearby[at]) if nearby[at] else places[at] for at in layer
        }
        layer.sort(key=lambda at: wanted[at])
        self._place_layer(layer, [wanted[at] for at in layer])

    def _place_layer(self, layer: list[int], wanted: list[float]) -> None:
        """Minimise the squared distance to `wanted`, keeping order and gaps."""
        offsets = [0.0]
        for before, at in pairwise(layer):
            offsets.append(offsets[-1] + (self.sizes[before][0] + self.sizes[at][0]) / 2 + GAP)
        pools: list[tuple[float, int]] = []  # the mean of each pool, and its size
        for aim, by in zip(wanted, offsets, strict=True):
            mean, number = aim - by, 1
            while pools and pools[-1][0] >= mean:
                other, others = pools.pop()
                mean, number = (mean * number + other * others) / (number + others), number + others
            pools.append((mean, number))
        free = [mean for mean, number in pools for _ in range(number)]
        for at, start, by in zip(layer, free, offsets, strict=True):
            self.places[at] = start + by

    def layout(self, graph: Diagram) -> Layout:
        ends = [(place, width / 2) for place, (width, _) in zip(self.places, self.sizes, strict=True)]
        left = min(place - half for place, half in ends) - MARGIN
        right = max(place + half for place, half in ends) + MARGIN
        heights = [max(self.sizes[at][1] for at in layer) for layer in self.layers]
        tops = list(accumulate((height + LAYER_GAP for height in heights[:-1]), initial=MARGIN))
        of = {at: rank for rank, layer in enumerate(self.layers) for at in layer}
        x = [round(place - left, 1) for place in self.places]
        boxes = tuple(
            Box(x[at], round(tops[of[at]] + heights[of[at]] / 2, 1), *self.sizes[at]) for at in range(len(graph.nodes))
        )
        lanes = tuple(
            tuple((x[at], round(tops[of[at]], 1), round(tops[of[at]] + heights[of[at]], 1)) for at in lane)
            for lane in self.lanes
        )
        return Layout(boxes, lanes, round(right - left, 1), round(tops[-1] + heights[-1] + MARGIN, 1))
