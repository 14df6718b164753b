"""Where gradients go wrong first, and the flow that it is told by."""

from __future__ import annotations

import numpy as np

from gradcheck.checks.failures.fault_localization import find_faults, first_faults, gradient_increments
from gradcheck.checks.failures.gradient_flow import GradientFlow
from gradcheck.facts import fact
from tests.checks.build import point_of

REUSE = "{inputs: {a: [1.0, 2.0], b: [3.0, 1.0]}, graph: {d: a * b, e: a + b, f: d * e, loss: f.sum()}}"


def right() -> tuple[GradientFlow, dict[str, np.ndarray | None]]:
    point = point_of(REUSE)
    return GradientFlow(point.problem, 0), gradient_increments(point.want, 0)


def test_right_gradients_follow_from_each_other() -> None:
    flow, gradients = right()
    found, followed = find_faults(flow, gradients)
    assert found == []
    assert set(followed.expected) == {"a", "b", "d", "e", "f", "loss"}


def test_the_first_fault_is_where_right_contributions_are_put_together_wrongly() -> None:
    flow, gradients = right()
    wrong = gradients["d"] * 2  # type: ignore[operator]
    found, _ = find_faults(flow, {**gradients, "d": wrong})
    assert [fault.tensor for fault in first_faults(found, flow)] == ["d"]
    assert found[0].origin == fact("tensor", name="d")
    assert np.array_equal(found[0].want, gradients["d"])  # type: ignore[arg-type]


def test_an_element_that_is_far_smaller_than_the_others_counts_as_they_do() -> None:
    point = point_of("{inputs: {a: [1.0, 1.0e-10], b: [3.0, 1.0]}, graph: {d: a * b, f: a * d, loss: f.sum()}}")
    flow, gradients = GradientFlow(point.problem, 0), gradient_increments(point.want, 0)
    wrong = gradients["d"] * np.array([1.0, -1.0])  # type: ignore[operator]
    assert [fault.tensor for fault in first_faults(find_faults(flow, {**gradients, "d": wrong})[0], flow)] == ["d"]
    assert find_faults(flow, {**gradients, "d": wrong}, lambda name: np.ones(2))[0] == []  # if rounding explained it


def test_what_lies_behind_a_fault_is_no_fault_of_its_own() -> None:
    """a and b are what d's wrong gradient makes of them."""
    flow, gradients = right()
    held = flow.run_backward({"d": gradients["d"] * 2})  # type: ignore[operator]
    found, _ = find_faults(
        flow, {**gradients, **{name: held.expected[name] for name in ("a", "b")}, "d": gradients["d"] * 2}
    )  # type: ignore[operator]
    assert [fault.tensor for fault in found] == ["d"]


def test_a_gradient_that_is_missing_or_of_another_shape_is_a_fault() -> None:
    flow, gradients = right()
    assert [f.tensor for f in find_faults(flow, {**gradients, "a": None})[0]] == ["a"]
    assert [f.tensor for f in find_faults(flow, {**gradients, "a": np.ones(3)})[0]] == ["a"]


def test_a_second_pass_adds_the_difference() -> None:
    steps = "steps: [{backward: loss}, {backward: loss}]"
    want = point_of(REUSE.replace("loss: f.sum()}}", "loss: f.sum()}, " + steps + "}")).want
    assert np.array_equal(gradient_increments(want, 1)["a"], gradient_increments(want, 0)["a"])  # type: ignore[arg-type]
    assert not np.array_equal(want.states[1].gradients["a"], gradient_increments(want, 1)["a"])  # type: ignore[arg-type]
