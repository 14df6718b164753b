"""A traced backward pass as a page to step through, with a picture."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from gradcheck.autograd.tensor import Tensor
from gradcheck.autograd.trace import Received, Trace
from gradcheck.engines.traced_case import Label, TracedCase, TracedStep
from gradcheck.reports.commands.trace_text import (
    Labels,
    error_text,
    event_sentences,
    kept_gradient_lines,
    step_description,
)
from gradcheck.reports.page.case_view import array_statistics
from gradcheck.reports.page.run_page import render_template as rendered
from gradcheck.reports.page.run_page import script_data
from gradcheck.reports.picture.diagram import Diagram, DiagramNode, Edge, NodeKind
from gradcheck.reports.picture.svg import to_svg
from gradcheck.reports.safe_text import plain

#: The most tensors and events of a pass that are shown.
MOST_NODES, MOST_EVENTS = 300, 2000


@dataclass(frozen=True, slots=True)
class PassView:
    """A step of the case: its picture, its events in words, what it leaves."""

    title: str
    error: str = ""
    graph: str = ""
    lines: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    more: int = 0
    number: int = 0


def render_trace_page(traced: TracedCase, step: int | None = None) -> str:
    """Return all steps, or the one at `step`, as a document."""
    chosen = [one for one in traced.steps if step is None or one.index == step]
    pairs = [_pass(one) for one in chosen]
    failed = ""
    if traced.error is not None:
        failed = f"the forward pass stops at {traced.failed_at}: {error_text(traced.error)}"
    return rendered(
        "trace.html.j2",
        ("graph.css", "pieces.css", "page.css", "trace.css"),
        ("trace.js",),
        title=plain(traced.case.name),
        failed=plain(failed),
        passes=[found for found, _ in pairs],
        data=script_data([data for _, data in pairs]),
    )


def _pass(one: TracedStep) -> tuple[PassView, dict[str, Any]]:
    title = f"step {one.index + 1}: {step_description(one)}"
    error = "" if one.error is None else error_text(one.error)
    if one.trace is None or one.trace.freed is not None:
        return PassView(title, error, number=one.index), {"edges": [], "events": []}
    graph, places = pass_diagram(one.trace, one.labels)
    told = event_sentences(one.trace, one.labels)
    events = [
        {
            "at": places.get(event.tensor, -1),
            "from": -1 if not isinstance(event, Received) or event.sender is None else places.get(event.sender, -1),
            "received": event.received if isinstance(event, Received) else 0,
            "expected": event.expected if isinstance(event, Received) else 0,
        }
        for event, _ in told[:MOST_EVENTS]
    ]
    found = PassView(
        title,
        error,
        to_svg(graph, label=f"the tensors of {title}"),
        tuple(text for _, text in told[:MOST_EVENTS]),
        tuple(kept_gradient_lines(one.trace, one.labels)),
        max(0, len(told) - MOST_EVENTS),
        one.index,
    )
    return found, {"edges": [[edge.source, edge.target] for edge in graph.edges], "events": events}


def pass_diagram(trace: Trace, labels: Labels) -> tuple[Diagram, dict[Tensor, int]]:
    """Return the tensors of the pass, makers first, and their positions."""
    done = dict.fromkeys(reversed(trace.order))  # a child precedes its makers
    tensors = [*(tensor for tensor in labels if tensor not in done), *done]
    left_out = max(0, len(tensors) - MOST_NODES)
    tensors = tensors[left_out:]
    places = {tensor: at for at, tensor in enumerate(tensors)}
    sums = {event.tensor: event.total for event in trace.events if isinstance(event, Received)}
    nodes = tuple(
        _node(tensor, labels[tensor], f"gradient: {array_statistics(sums[tensor])}" if tensor in sums else "", trace)
        for tensor in tensors
    )
    edges = tuple(
        Edge(places[maker], at, times)
        for tensor, at in places.items()
        for maker, times in Counter(tensor.creators).items()
        if maker in places and places[maker] < at
    )
    return Diagram(nodes, edges, left_out), places


def _node(tensor: Tensor, label: Label, gradient: str, trace: Trace) -> DiagramNode:
    name = label.name or f"({label.op})"
    shape = f"shape [{', '.join(map(str, tensor.data.shape))}] {tensor.data.dtype}"
    told = tuple(filter(None, (label.text, shape, gradient)))
    kind: NodeKind = "input" if tensor.creation_op is None else "entry"
    return DiagramNode(name, kind, label.expression, is_root=any(tensor is root for root in trace.roots), details=told)
