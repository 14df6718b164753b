"""The positions of a graph's nodes: in layers, makers above their results.

The order within layers is found by barycentres (Sugiyama, Tagawa & Toda 1981). Positions are then as near to the middle
of the neighbours as boxes that do not overlap can be, by pooling adjacent violators (isotonic regression). An edge over
several layers gets a lane of its own in each, unless there are too many lanes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from gradcheck.reports.picture.diagram import Diagram, Edge

#: Between boxes of a layer, and between layers; around all; the width of a lane.
GAP, LAYER_GAP, MARGIN, LANE = 26.0, 52.0, 14.0, 8.0
#: How often orders and positions are improved.
_SWEEPS = 8
#: The most lanes; edges of a larger graph are straight.
_MOST_LANES = 1500


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
    """Return boxes of these sizes (width, height), one for each node."""
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
