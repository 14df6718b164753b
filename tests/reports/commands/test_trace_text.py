"""The trace as text."""

from __future__ import annotations

import json
from dataclasses import replace
from textwrap import dedent

import numpy as np

from gradcheck.autograd.trace import summarize
from gradcheck.checks.derivation import explain
from gradcheck.engines.traced_case import TracedCase
from gradcheck.reports import Look
from gradcheck.reports.commands import trace_text
from tests.from_text import traced_from


def test_the_whole_story(twice: TracedCase) -> None:
    assert trace_text.render(twice, Look()) == dedent("""\
        case.yaml::twice

        step 1: backward from z
               z receives [1, 10] from outside: 1 of 1, ready
           1 z = y * y  (mul) passes on [1, 10]
               y receives [2, 40] from z: 1 of 2, waits
               y receives [2, 40] from z: 2 of 2, together [4, 80], ready
           2   y = x + x  (add) passes on [4, 80]
                 x receives [4, 80] from y: 1 of 2, waits
                 x receives [4, 80] from y: 2 of 2, together [8, 160], keeps it

          order: z, y, x
          z.grad: [1, 10]
          y.grad: [4, 80]
          x.grad: [8, 160]
        """)


def test_one_tensor_alone(twice: TracedCase) -> None:
    assert trace_text.render(twice, Look(), tensor="y") == dedent("""\
        case.yaml::twice

        step 1: backward from z
               y receives [2, 40] from z: 1 of 2, waits
               y receives [2, 40] from z: 2 of 2, together [4, 80], ready
           2   y = x + x  (add) passes on [4, 80]
                 x receives [4, 80] from y: 1 of 2, waits
                 x receives [4, 80] from y: 2 of 2, together [8, 160], keeps it
          y.grad: [4, 80]
        """)


def test_a_second_pass_through_a_freed_graph() -> None:
    text = trace_text.render(
        traced_from("""
            inputs: {x: [1, 2]}
            graph: {y: exp(x).sum()}
            steps: [{backward: y, retain_graph: false}, {backward: y}]
            """),
        Look(width=200),
        step=1,
    )
    assert "step 1" not in text
    assert "y is freed: an earlier pass has thrown away the values saved for its gradient" in text
    assert "error backward_twice: a second backward pass through a graph whose saved values are freed" in text
    assert "which the case does not ask for" in text


def test_accumulation_is_shown_as_a_sum() -> None:
    text = trace_text.render(
        traced_from("""
            inputs: {x: [1, 2]}
            graph: {y: (3 * x).sum()}
            steps: [{backward: y}, {zero_grad: y}, {backward: y}]
            """),
        Look(),
    )
    assert "x.grad: [3, 3] + [3, 3] = [6, 6]" in text
    assert "step 2: zero_grad y" in text


def test_long_passes_are_summarised_unless_all_is_asked_for(long: TracedCase) -> None:
    short, whole = (trace_text.render(long, Look(verbosity=verbosity)) for verbosity in (0, 1))
    assert "… 85 tensors more (85 mul); -v shows them" in short
    assert len(short.splitlines()) < 80
    assert len(whole.splitlines()) > 200
    assert whole.count("passes on") == 101


def test_lines_fit(long: TracedCase) -> None:
    for width in (60, 80, 120):
        lines = trace_text.render(long, Look(width=width)).splitlines()
        assert max(map(len, lines)) <= width


def test_values_are_shortened() -> None:
    assert trace_text.array_summary(summarize(np.arange(3.0))) == "[0, 1, 2]"
    assert trace_text.array_summary(summarize(np.arange(100.0))) == "(100,) from 0 to 99"
    assert trace_text.array_summary(summarize(np.full((9, 9), 0.25))) == "(9, 9) of 0.25"


def test_tensors_are_called_by_name_label_or_expression(twice: TracedCase) -> None:
    labels = twice.steps[0].labels
    (z,) = trace_text.tensors_named(labels, "z")
    assert trace_text.tensors_named(labels, "y * y") == [z]
    assert trace_text.tensors_named(labels, "nobody") == trace_text.tensors_named(labels, "") == []


def test_what_is_left_comes_with_its_formula(twice: TracedCase) -> None:
    """At the end, and only with the pass that is explained."""
    explained = explain(twice.case)
    whole = trace_text.render(twice, Look(), explained=explained)
    assert whole.splitlines()[-3:] == ["", "  x.grad = 2 * grad(y)", "  y.grad = 2 * grad(z) * y"]
    assert "y.grad = " not in trace_text.render(twice, Look(), explained=replace(explained, step=7))
    assert "y.grad = " not in trace_text.render(twice, Look(), tensor="y", explained=explained)


def test_json_tells_every_event(twice: TracedCase, long: TracedCase) -> None:
    document = json.loads(trace_text.render_json(twice))
    (step,) = document["steps"]
    assert step["order"] == ["z", "y", "x"]
    assert [event["event"] for event in step["events"]].count("receives") == 5
    last = step["events"][-1]
    assert (last["tensor"], last["from"], last["received"], last["expected"], last["ready"]) == ("x", "y", 2, 2, True)
    assert last["total"]["values"] == [8, 160]
    assert [kept["tensor"] for kept in step["gradients"]] == ["z", "y", "x"]
    assert len(json.loads(trace_text.render_json(long))["steps"][0]["order"]) == 102


def test_json_of_an_error() -> None:
    document = json.loads(trace_text.render_json(traced_from("{inputs: {x: [1, 2]}, graph: {y: exp(x)}}")))
    assert document["steps"][0]["error"]["kind"] == "non_scalar_backward"
    assert document["steps"][0]["expected_error"] is None


def test_one_tensor_is_followed_alone(twice: TracedCase) -> None:
    (step,) = json.loads(trace_text.render_json(twice, tensor="x"))["steps"]
    assert [one["tensor"] for one in step["tensors"]] == ["x"]
    assert [event["tensor"] for event in step["events"]] == ["x", "x"]
    assert json.loads(trace_text.render_json(twice, step=1))["steps"] == []


def test_formulas_of_the_pass_that_is_explained(twice: TracedCase) -> None:
    (step,) = json.loads(trace_text.render_json(twice, explained=explain(twice.case)))["steps"]
    assert step["formulas"] == {"x": "2 * grad(y)", "y": "2 * grad(z) * y"}
    (step,) = json.loads(trace_text.render_json(twice))["steps"]
    assert "formulas" not in step
