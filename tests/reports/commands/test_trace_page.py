"""The backward pass as a page: every event with its place in the picture, on any case."""

from __future__ import annotations

import json

import pytest

from gradcheck.engines.traced_case import TracedCase, trace_case
from gradcheck.language.loader import load_text
from gradcheck.language.sampling import draw
from gradcheck.reports.commands import trace_page
from gradcheck.reports.commands.trace_page import pass_diagram, render_trace_page
from tests.reports.formats.test_html import ATTRIBUTES, EVIL, Reader


def traced(text: str) -> TracedCase:
    (case,), errors = load_text(text, "a.yaml")
    assert not errors
    return trace_case(draw(case))


TWICE = "{inputs: {x: [1.0, 2]}, graph: {y: x + x, z: y * y, s: z.sum()}}"


def test_makers_stand_before_what_they_make() -> None:
    (step,) = traced(TWICE).steps
    assert step.trace is not None
    graph, places = pass_diagram(step.trace, step.labels)
    assert [node.name for node in graph.nodes] == ["x", "y", "z", "s"]
    assert [(edge.source, edge.target, edge.times) for edge in graph.edges] == [(0, 1, 2), (1, 2, 2), (2, 3, 1)]
    assert set(places.values()) == {0, 1, 2, 3}


def test_events_are_told_and_placed() -> None:
    read = Reader(render_trace_page(traced(TWICE)))
    (found,) = json.loads(read.scripts[0][1])
    assert [event["at"] for event in found["events"]] == [3, 3, 2, 2, 1, 1, 1, 0, 0]
    assert [(event["received"], event["expected"]) for event in found["events"]][-2:] == [(1, 2), (2, 2)]
    assert found["edges"] == [[0, 1], [1, 2], [2, 3]]


def test_every_step_has_its_player() -> None:
    text = render_trace_page(
        traced("{inputs: {x: 2.0}, graph: {y: x * x}, steps: [{backward: y}, {zero_grad: x}, {backward: y}]}")
    )
    assert text.count('class="part player"') == 3
    assert text.count('class="controls"') == 2
    one = render_trace_page(traced("{inputs: {x: 2.0}, graph: {y: x * x}, steps: [{backward: y}, {zero_grad: x}]}"), 1)
    assert "zero_grad x" in one
    assert "backward from y" not in one


def test_nothing_breaks_out() -> None:
    case = json.dumps({"name": EVIL[2], "description": EVIL[1], "inputs": {"x": [1.0]}, "graph": {"y": "x * 2"}})
    read = Reader(render_trace_page(traced(case)))
    assert [kind for kind, _ in read.scripts] == ["application/json", None]
    assert not [attributes for _, attributes in read.tags if any(map(ATTRIBUTES.match, attributes))]


def test_what_cannot_be_computed_is_told() -> None:
    assert "the forward pass stops at y" in render_trace_page(
        traced("{inputs: {x: [1, 2.0], w: [1, 2, 3.0]}, graph: {y: x * w}}")
    )


def test_a_long_pass_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_page, "MOST_EVENTS", 3)
    monkeypatch.setattr(trace_page, "MOST_NODES", 2)
    text = render_trace_page(traced(TWICE))
    assert "and 6 more events" in text
    assert "2 further nodes are not drawn" in text
