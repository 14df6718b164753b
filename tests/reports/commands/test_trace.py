"""The trace as text."""

from __future__ import annotations

<<<<<<< HEAD
import json
=======
from collections.abc import Callable
>>>>>>> checks
from textwrap import dedent

import numpy as np

from gradcheck.autograd.trace import glimpse
<<<<<<< HEAD
from gradcheck.reports import Look
from gradcheck.reports.commands import trace, trace_json
from gradcheck.reports.tensors import inline
from tests.from_text import traced_from

TWICE = """\
name: twice
inputs: {x: [1, 2]}
graph:
  y: x + x
  z: y * y
backward: {z: [1, 10]}
"""
LONG = f"""\
name: long
inputs: {{x: [1, 2]}}
graph: {{y: (x{" * 2" * 100}).sum()}}
"""


def test_the_whole_story() -> None:
    assert trace.render(traced_from(TWICE), Look()) == dedent("""\
=======
from gradcheck.engines.trace import TracedCase
from gradcheck.reports import Look
from gradcheck.reports.commands import trace

Traced = Callable[[str], TracedCase]


def test_the_whole_story(twice: TracedCase) -> None:
    assert trace.render(twice, Look()) == dedent("""\
>>>>>>> checks
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


<<<<<<< HEAD
def test_one_tensor_alone() -> None:
    assert trace.render(traced_from(TWICE), Look(), tensor="y") == dedent("""\
=======
def test_one_tensor_alone(twice: TracedCase) -> None:
    assert trace.render(twice, Look(), tensor="y") == dedent("""\
>>>>>>> checks
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
    text = trace.render(
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
    text = trace.render(
        traced_from("""
            inputs: {x: [1, 2]}
            graph: {y: (3 * x).sum()}
            steps: [{backward: y}, {zero_grad: y}, {backward: y}]
            """),
        Look(),
    )
    assert "x.grad: [3, 3] + [3, 3] = [6, 6]" in text
    assert "step 2: zero_grad y" in text


<<<<<<< HEAD
def test_long_passes_are_summarised_unless_all_is_asked_for() -> None:
    found = traced_from(LONG)
    short, whole = (trace.render(found, Look(verbosity=verbosity)) for verbosity in (0, 1))
=======
def test_long_passes_are_summarised_unless_all_is_asked_for(long: TracedCase) -> None:
    short, whole = (trace.render(long, Look(verbosity=verbosity)) for verbosity in (0, 1))
>>>>>>> checks
    assert "… 85 tensors more (85 mul); -v shows them" in short
    assert len(short.splitlines()) < 80
    assert len(whole.splitlines()) > 200
    assert whole.count("passes on") == 101


<<<<<<< HEAD
def test_lines_fit() -> None:
    for width in (60, 80, 120):
        lines = trace.render(traced_from(LONG), Look(width=width)).splitlines()
        assert max(map(len, lines)) <= width


def test_json_tells_every_event() -> None:
    document = json.loads(trace_json.render(traced_from(TWICE)))
    (step,) = document["steps"]
    assert step["order"] == ["z", "y", "x"]
    assert [event["event"] for event in step["events"]].count("receives") == 5
    last = step["events"][-1]
    assert (last["tensor"], last["from"], last["received"], last["expected"], last["ready"]) == ("x", "y", 2, 2, True)
    assert last["total"]["values"] == [8, 160]
    assert [kept["tensor"] for kept in step["gradients"]] == ["z", "y", "x"]
    assert len(json.loads(trace_json.render(traced_from(LONG)))["steps"][0]["order"]) == 102


def test_json_of_an_error() -> None:
    document = json.loads(trace_json.render(traced_from("{inputs: {x: [1, 2]}, graph: {y: exp(x)}}")))
    assert document["steps"][0]["error"]["kind"] == "non_scalar_backward"
    assert document["steps"][0]["expected_error"] is None


=======
def test_lines_fit(long: TracedCase) -> None:
    for width in (60, 80, 120):
        lines = trace.render(long, Look(width=width)).splitlines()
        assert max(map(len, lines)) <= width


>>>>>>> checks
def test_values_are_shortened() -> None:
    assert trace.shortened(glimpse(np.arange(3.0))) == "[0, 1, 2]"
    assert trace.shortened(glimpse(np.arange(100.0))) == "(100,) from 0 to 99"
    assert trace.shortened(glimpse(np.full((9, 9), 0.25))) == "(9, 9) of 0.25"


def test_tensors_are_called_by_name_label_or_expression(twice: TracedCase) -> None:
    labels = twice.steps[0].labels
    (z,) = trace.called(labels, "z")
    assert trace.called(labels, "y * y") == [z]
    assert trace.called(labels, "nobody") == trace.called(labels, "") == []
