"""The trace as JSON."""

from __future__ import annotations

import json

from gradcheck.checks.derivation import explain
from gradcheck.engines.traced_case import TracedCase
from gradcheck.reports.commands import trace_json
from tests.from_text import traced_from


def test_json_tells_every_event(twice: TracedCase, long: TracedCase) -> None:
    document = json.loads(trace_json.render(twice))
    (step,) = document["steps"]
    assert step["order"] == ["z", "y", "x"]
    assert [event["event"] for event in step["events"]].count("receives") == 5
    last = step["events"][-1]
    assert (last["tensor"], last["from"], last["received"], last["expected"], last["ready"]) == ("x", "y", 2, 2, True)
    assert last["total"]["values"] == [8, 160]
    assert [kept["tensor"] for kept in step["gradients"]] == ["z", "y", "x"]
    assert len(json.loads(trace_json.render(long))["steps"][0]["order"]) == 102


def test_json_of_an_error() -> None:
    document = json.loads(trace_json.render(traced_from("{inputs: {x: [1, 2]}, graph: {y: exp(x)}}")))
    assert document["steps"][0]["error"]["kind"] == "non_scalar_backward"
    assert document["steps"][0]["expected_error"] is None


def test_one_tensor_is_followed_alone(twice: TracedCase) -> None:
    (step,) = json.loads(trace_json.render(twice, tensor="x"))["steps"]
    assert [one["tensor"] for one in step["tensors"]] == ["x"]
    assert [event["tensor"] for event in step["events"]] == ["x", "x"]
    assert json.loads(trace_json.render(twice, step=1))["steps"] == []


def test_formulas_of_the_pass_that_is_explained(twice: TracedCase) -> None:
    (step,) = json.loads(trace_json.render(twice, explained=explain(twice.case)))["steps"]
    assert step["formulas"] == {"x": "2 * grad(y)", "y": "2 * grad(z) * y"}
    (step,) = json.loads(trace_json.render(twice))["steps"]
    assert "formulas" not in step
