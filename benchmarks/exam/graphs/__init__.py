"""The graphs of the exam, by theme."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from benchmarks.exam.graph import Graph
from benchmarks.exam.graphs import elementwise, incoming, layers, losses, matrices, numbers, pieces, shapes

THEMES: Mapping[str, Sequence[Graph]] = {
    "products of matrices": matrices.CHAINS,
    "linear algebra": matrices.SOLVED,
    "reuse": layers.REUSE,
    "broadcasting": layers.BROADCAST,
    "softmax and losses": losses.LOSSES,
    "norms": layers.NORMS,
    "cumulative and indexing": shapes.SHAPES,
    "pieces": pieces.PIECES,
    "elementwise": elementwise.ELEMENTWISE,
    "complex and half precision": numbers.NUMBERS,
    "incoming gradients and literals": incoming.INCOMING,
    "several roots, steps, derivations": incoming.PASSES,
}


def all_graphs() -> list[Graph]:
    return [replace(graph, theme=theme) for theme, graphs in THEMES.items() for graph in graphs]
