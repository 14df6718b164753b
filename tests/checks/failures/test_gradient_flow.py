"""How gradients flow through a graph: uses, paths, and what a pass would leave without them."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.checks.failures.gradient_flow import GradientFlow
from gradcheck.facts import fact
from tests.checks.build import point_of

DIAMOND = "{inputs: {x: [1.0, 2.0]}, graph: {h: x * 3, p: h * h, q: h + 1, f: p * q, loss: f.sum()}}"


@pytest.fixture
def flow() -> GradientFlow:
    return GradientFlow(point_of(DIAMOND).problem, 0)


def test_a_pass_gives_the_gradients(flow: GradientFlow) -> None:
    want = point_of(DIAMOND).want.states[0].gradients
    found = flow.run_backward().expected
    assert all(np.allclose(found[name], gradient) for name, gradient in want.items())  # type: ignore[arg-type]


def test_uses_are_told_by_op_and_entry_and_add_up(flow: GradientFlow) -> None:
    followed = flow.run_backward()
    uses = flow.uses(followed, flow.tensors["h"])
    assert sorted((use.op, use.owner) for use in uses) == [("add", "q"), ("mul", "p"), ("mul", "p")]
    assert np.allclose(sum(use.share for use in uses), followed.expected["h"])  # type: ignore[arg-type]


def test_the_incoming_gradient_of_a_root_comes_from_no_op(flow: GradientFlow) -> None:
    (use,) = flow.uses(flow.run_backward(), flow.tensors["loss"])
    assert use.origin == fact("incoming_at_root")


def test_a_path_can_be_cut(flow: GradientFlow) -> None:
    whole, without = flow.run_backward(), flow.run_backward(cut=("h", "q"))
    through_q = next(use for use in flow.uses(whole, flow.tensors["h"]) if use.owner == "q")
    assert np.allclose(without.expected["h"], whole.expected["h"] - through_q.share)


def test_what_is_held_is_what_is_passed_on(flow: GradientFlow) -> None:
    found = flow.run_backward({"h": np.array([1.0, 10.0])})
    assert found.expected["x"].tolist() == [3.0, 30.0]


def test_above_below_and_children(flow: GradientFlow) -> None:
    assert flow.ancestors("h") == {"x"}
    assert flow.descendants("h") == {"p", "q", "f", "loss"}
    assert flow.children("h") == {"p", "q"}
    assert flow.is_small


def test_passing_on_too_early_is_worked_out_for_every_order(flow: GradientFlow) -> None:
    """x's only use goes through h, which has three contributions of its own."""
    (use,) = flow.uses(flow.run_backward(), flow.tensors["x"])
    kinds = [when.kind for when, _ in use.partial]
    assert kinds.count("passed_on_when") == 4
    assert kinds.count("passed_on_each_time") == 2
    assert {when["name"] for when, _ in use.partial} == {"h"}


def test_a_later_step_has_the_inputs_that_hold_then() -> None:
    text = "{inputs: {x: [1.0]}, graph: {y: x * x}, steps: [{backward: y}, {forward: {x: [5.0]}}, {backward: y}]}"
    problem = point_of(text).problem
    assert GradientFlow(problem, 0).run_backward().expected["x"].tolist() == [2.0]
    assert GradientFlow(problem, 2).run_backward().expected["x"].tolist() == [10.0]
