"""Layers: makers above what they make, no two boxes on each other, long edges past all boxes, in linear time."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.reports.picture.diagram import Diagram, DiagramNode, Edge
from gradcheck.reports.picture.svg import compute_layout

SIZE = (60.0, 40.0)


def random_graph(number: int, seed: int) -> Diagram:
    """Entries of which each is made of one or two before it."""
    generator = np.random.default_rng(seed)
    nodes = tuple(DiagramNode(f"n{at}", "entry" if at else "input") for at in range(number))
    edges = {(int(generator.integers(at)), at): None for at in range(1, number) for _ in range(2)}
    return Diagram(nodes, tuple(Edge(*pair) for pair in edges))


@pytest.mark.parametrize("seed", range(6))
def test_layers(seed: int) -> None:
    graph = random_graph(8 + 9 * seed, seed)
    layout = compute_layout(graph, [SIZE] * len(graph.nodes))
    boxes = layout.boxes
    for edge in graph.edges:
        assert boxes[edge.source].y + SIZE[1] < boxes[edge.target].y
    for at, one in enumerate(boxes):
        assert one.x - SIZE[0] / 2 >= 0
        assert one.x + SIZE[0] / 2 <= layout.width
        assert one.y + SIZE[1] / 2 <= layout.height
        for other in boxes[:at]:
            assert abs(one.x - other.x) >= SIZE[0] or abs(one.y - other.y) >= SIZE[1]
    for lanes in layout.lanes:
        for x, top, _ in lanes:
            assert all(abs(box.x - x) > SIZE[0] / 2 or abs(box.y - SIZE[1] / 2 - top) > 1 for box in boxes)


def test_a_leaf_stands_just_above_what_uses_it() -> None:
    nodes = tuple(DiagramNode(name, "input" if name in "xw" else "entry") for name in "xwabc")
    graph = Diagram(nodes, (Edge(0, 2), Edge(2, 3), Edge(3, 4), Edge(1, 4)))
    boxes = compute_layout(graph, [SIZE] * 5).boxes
    assert boxes[1].y == boxes[3].y


def test_no_node_is_no_mistake() -> None:
    assert compute_layout(Diagram((), ()), []).boxes == ()


def test_thousands_of_nodes() -> None:
    graph = random_graph(3000, 0)
    assert len(compute_layout(graph, [SIZE] * 3000).boxes) == 3000
