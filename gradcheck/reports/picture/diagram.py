"""A case's graph as nodes and edges, with a verdict on each node."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from gradcheck.language.case import Case, Value
from gradcheck.language.expr.nodes import Name
from gradcheck.language.expr.printer import to_text

NodeKind = Literal["input", "constant", "entry"]
#: The verdict on a node: `faulty` is the first fault, `follows` a consequence.
NodeVerdict = Literal["passed", "failed", "faulty", "follows", "undecided", "unknown"]


@dataclass(frozen=True, slots=True)
class DiagramNode:
    """A node: `text` is its expression, `details` are lines shown on demand."""

    name: str
    kind: NodeKind
    text: str = ""
    verdict: NodeVerdict = "unknown"
    is_root: bool = False
    needs_gradient: bool = True
    details: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Edge:
    """A value that flows from `source` to `target` (indices), `times` times."""

    source: int
    target: int
    times: int = 1


@dataclass(frozen=True, slots=True)
class Diagram:
    """Nodes, makers before what they make; `omitted_nodes` counts the rest."""

    nodes: tuple[DiagramNode, ...]
    edges: tuple[Edge, ...]
    omitted_nodes: int = 0

    def returns_gradient(self, edge: Edge) -> bool:
        """Return whether a gradient flows back along the edge."""
        return self.nodes[edge.source].needs_gradient and self.nodes[edge.target].needs_gradient


def diagram_of_case(case: Case) -> Diagram:
    """Return inputs, used constants, and entries of the graph."""
    used = Counter(name for claim in case.graph.values() for name in _names(claim.expr))
    roots = {root.partition("[")[0] for step in case.steps for root in step.roots}
    nodes = [DiagramNode(name, "input", _of_value(value), is_root=name in roots) for name, value in case.inputs.items()]
    constants = ((name, _of_value(value)) for name, value in case.constants.items() if name in used)
    nodes += [DiagramNode(name, "constant", text, needs_gradient=False) for name, text in constants]
    nodes += [DiagramNode(name, "entry", claim.text, is_root=name in roots) for name, claim in case.graph.items()]
    places = {node.name: place for place, node in enumerate(nodes)}
    edges: list[Edge] = []
    for name, claim in case.graph.items():
        times = Counter(_names(claim.expr))
        edges += [Edge(places[one], places[name], times[one]) for one in times if one in places]
    return _mark_gradient_paths(Diagram(tuple(nodes), tuple(edges)))


def _names(expr: object) -> list[str]:
    return [node.name for node in expr.walk() if type(node) is Name]  # type: ignore[attr-defined]


def _of_value(value: Value) -> str:
    if value.expr is not None:
        return value.text or to_text(value.expr)
    shape = getattr(value.array, "shape", ())
    return f"[{', '.join(map(str, shape))}]" if shape else f"{value.array}"


def _mark_gradient_paths(graph: Diagram) -> Diagram:
    """Mark nodes that an input leads to and that lead to a root."""
    down = _reachable_nodes(graph, [at for at, node in enumerate(graph.nodes) if node.kind == "input"], forwards=True)
    up = _reachable_nodes(graph, [at for at, node in enumerate(graph.nodes) if node.is_root], forwards=False)
    needing = down & up
    nodes = tuple(replace(node, needs_gradient=at in needing) for at, node in enumerate(graph.nodes))
    return replace(graph, nodes=nodes)


def neighbours(graph: Diagram, forwards: bool) -> list[list[int]]:
    """Return for each node its successors, or its predecessors."""
    found: list[list[int]] = [[] for _ in graph.nodes]
    for edge in graph.edges:
        start, end = (edge.source, edge.target) if forwards else (edge.target, edge.source)
        found[start].append(end)
    return found


def _reachable_nodes(graph: Diagram, start: Sequence[int], forwards: bool) -> set[int]:
    nearby = neighbours(graph, forwards)
    seen, stack = set(start), list(start)
    while stack:
        for one in nearby[stack.pop()]:
            if one not in seen:
                seen.add(one)
                stack.append(one)
    return seen


def with_verdicts(graph: Diagram, known: Mapping[str, tuple[NodeVerdict, tuple[str, ...]]]) -> Diagram:
    """Return the diagram with verdicts and details of nodes, by name."""
    nodes = tuple(
        replace(node, verdict=known[node.name][0], details=known[node.name][1]) if node.name in known else node
        for node in graph.nodes
    )
    return replace(graph, nodes=nodes)


def nearest_nodes(graph: Diagram, most: int) -> Diagram:
    """Return at most `most` nodes: those nearest to a failure, else to roots."""
    if len(graph.nodes) <= most:
        return graph
    ranks: tuple[tuple[NodeVerdict, ...], ...] = (("faulty",), ("failed", "undecided"), ("follows",))
    start: list[int] = []
    for rank in ranks:
        start = start or [at for at, node in enumerate(graph.nodes) if node.verdict in rank]
    start = start or [at for at, node in enumerate(graph.nodes) if node.is_root] or [len(graph.nodes) - 1]
    both = [a + b for a, b in zip(neighbours(graph, True), neighbours(graph, False), strict=True)]
    kept, waiting = dict.fromkeys(start[:most]), deque(start[:most])
    while waiting and len(kept) < most:
        for one in both[waiting.popleft()]:
            if one not in kept and len(kept) < most:
                kept[one] = None
                waiting.append(one)
    places = {old: new for new, old in enumerate(sorted(kept))}
    nodes = tuple(graph.nodes[old] for old in places)
    drawn = (e for e in graph.edges if e.source in places and e.target in places)
    edges = tuple(Edge(places[e.source], places[e.target], e.times) for e in drawn)
    return Diagram(nodes, edges, graph.omitted_nodes + len(graph.nodes) - len(nodes))
