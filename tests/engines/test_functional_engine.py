"""Libraries that differentiate functions, by one that takes differences of NumPy's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from gradcheck import run
from gradcheck.autograd.op import TABLE
from gradcheck.engines.base import Application
from gradcheck.engines.functional_engine import FunctionalEngine
from tests.from_text import problem_from


class Differences(FunctionalEngine):
    """NumPy's functions, differentiated by central differences; what a product asks for is exact enough."""

    def __init__(self) -> None:
        super().__init__("differences", np.asarray, (np.ndarray, np.generic), (np,))
        self.asked: list[int] = []

    def derivatives(self, function: Callable[..., Any], arguments: list[np.ndarray]) -> Sequence[Any]:
        self.asked.append(len(arguments))
        found = []
        for place, array in enumerate(arguments):
            gradient = np.zeros(array.shape)
            for index in np.ndindex(array.shape):
                step = np.zeros(array.shape)
                step[index] = 0.5
                ahead, behind = (
                    function(*arguments[:place], array + sign * step, *arguments[place + 1 :]) for sign in (1, -1)
                )
                gradient[index] = ahead - behind
            found.append(gradient)
        return found


@pytest.fixture
def engine() -> Differences:
    return Differences()


def test_leaves_and_named_tensors_get_gradients(engine: Differences) -> None:
    found = engine.evaluate(
        problem_from("{inputs: {x: [1, 2], y: [3, 4]}, graph: {z: x * y, s: z + x, loss: s.sum()}}")
    )
    (state,) = found.states
    assert found.error is None
    assert state.values["z"].tolist() == [3, 8]
    gradients = {name: gradient.tolist() for name, gradient in state.gradients.items() if gradient is not None}
    assert gradients == {"x": [4, 5], "y": [1, 2], "z": [1, 1], "s": [1, 1], "loss": 1}


def test_gradients_add_up_until_they_are_forgotten(engine: Differences) -> None:
    text = (
        "{inputs: {x: [1, 2]}, graph: {y: (x * x).sum()}, steps: [backward: y, backward: y, zero_grad: x, backward: y]}"
    )
    states = engine.evaluate(problem_from(text)).states
    assert [None if s.gradients["x"] is None else s.gradients["x"].tolist() for s in states] == [
        [2, 4],
        [4, 8],
        None,
        [2, 4],
    ]


def test_what_does_not_lead_to_a_root_is_not_asked_for(engine: Differences) -> None:
    text = "{inputs: {x: [1, 2], y: [3, 4]}, graph: {a: x * x, b: y * y, loss: a.sum()}}"
    engine.asked.clear()
    (state,) = engine.evaluate(problem_from(text)).states
    assert engine.asked[-1] == 3  # x, a and loss
    assert state.gradients["y"] is state.gradients["b"] is None


def test_several_roots_with_their_incoming_gradients(engine: Differences) -> None:
    text = "{inputs: {x: [1, 2]}, graph: {y: x * x, z: x + x}, backward: {y: [1, 1], z: [0.5, 1]}}"
    (state,) = engine.evaluate(problem_from(text)).states
    assert state.gradients["x"].tolist() == [3, 6]


@pytest.mark.parametrize(
    ("expression", "step", "kind"),
    [
        ("x * x", "backward: y", "non_scalar_backward"),
        ("x.detach().sum()", "backward: y", "no_grad_required"),
        ("x.sum()", "{backward: y, retain_graph: false}", "unsupported"),
    ],
)
def test_passes_that_are_refused(engine: Differences, expression: str, step: str, kind: str) -> None:
    text = f"{{inputs: {{x: [1, 2]}}, graph: {{y: {expression}}}, steps: [{step}]}}"
    (state,) = engine.evaluate(problem_from(text)).states
    assert state.error is not None
    assert state.error.kind == kind


def test_ops_alone_begin_with_nothing_noted(engine: Differences) -> None:
    x = np.array([1.0, 2.0])
    applications = [Application(TABLE["mul"], (x, 3.0), {}, "y")] * 2
    found = engine.pull_back(applications, [[np.ones(2)]] * 2, x.dtype)
    assert [pullback.gradients[0].tolist() for pullback in found] == [[3, 3], [3, 3]]


def test_other_numbers_than_floating_ones_are_lacking(engine: Differences) -> None:
    found = engine.evaluate(problem_from("{dtype: complex128, inputs: {x: [1, 2]}, graph: {y: x.abs().sum()}}"))
    assert found.error is not None
    assert (found.error.kind, found.error.lacks) == ("unsupported", "complex128")


def test_a_form_that_cannot_be_differentiated_is_none() -> None:
    class Refusing(Differences):
        def derivatives(self, function: Callable[..., Any], arguments: list[np.ndarray]) -> Sequence[Any]:
            raise NotImplementedError("VJP of negative wrt argnums (0,) not defined")

    found = Refusing().evaluate(problem_from("{inputs: {x: [1, 2]}, graph: {y: sin(x).sum()}}"))
    assert found.error is not None
    assert (found.error.kind, found.failed_at) == ("unsupported", "y")


def test_it_runs_cases_as_any_engine_does(engine: Differences) -> None:
    case = problem_from("{inputs: {x: [[1, 2], [3, 4]]}, graph: {y: x @ x, loss: 'y.sum()'}}").case
    (found,) = run([case], engines=[engine]).cases
    assert found.status == "passed", [c for c in found.comparisons if c.status != "passed"]
