"""Engines that are unreliable, or wrong before any gradient is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from gradcheck.autograd.modes import quiet
from gradcheck.checks.claims import evaluations as stage
from gradcheck.checks.failures.engine_faults import is_unreliable
from gradcheck.checks.failures.point_failures import PointFailures
from gradcheck.checks.failures.wrong_values import has_wrong_values
from gradcheck.checks.result import Comparison
from gradcheck.engines.base import Evaluation, State
from gradcheck.engines.core import Core
from gradcheck.errors import TensorError
from gradcheck.facts import fact
from tests.checks.build import context_of

CASE = "{inputs: {x: [1.0, 2.0, 0.5]}, graph: {h: tanh(x), loss: h.sum()}}"


class Changed(Core):
    """The core, whose evaluation is changed afterwards."""

    name = "changed"

    def __init__(self, change: Any) -> None:
        super().__init__()
        self.change = change

    def evaluate(self, *args: Any, **kwargs: Any) -> Evaluation:
        return replace(self.change(super().evaluate(*args, **kwargs)), engine=self.name)


def failing(change: Any) -> PointFailures:
    context = context_of(CASE, engines=(Changed(change),))
    with quiet():
        context.found = list(stage.check(context))
    return PointFailures(context, context.points.own)


def lead(failures: PointFailures) -> Comparison:
    (found,) = [c for c in failures.comparisons if c.cause]
    return found


def of_state(found: Evaluation, values: dict[str, Any], gradients: dict[str, Any]) -> Evaluation:
    (state,) = found.states
    return replace(found, states=(State({**state.values, **values}, {**state.gradients, **gradients}),))


def test_an_engine_that_answers_the_same_is_reliable() -> None:
    failures = failing(lambda found: of_state(found, {}, {"x": np.ones(3)}))
    (engine,) = failures.context.engines.tested
    assert not is_unreliable(failures, engine, [])
    assert not has_wrong_values(failures, engine)


def test_one_that_answers_by_chance_is_told() -> None:
    generator = np.random.default_rng(0)
    failures = failing(lambda found: of_state(found, {}, {"x": generator.standard_normal(3)}))
    (engine,) = failures.context.engines.tested
    assert is_unreliable(failures, engine, [])
    cause = lead(failures)
    assert cause.cause is not None
    assert cause.cause.origin == fact("chance")
    assert [d.kind for d in cause.diagnoses] == ["not_deterministic"]


def test_one_that_recurses_is_told() -> None:
    error = TensorError("maximum recursion depth exceeded")
    error.kind = "recursion"
    failures = failing(lambda found: replace(found, states=(replace(found.states[0], error=error),)))
    (engine,) = failures.context.engines.tested
    assert is_unreliable(failures, engine, [])
    assert [d.kind for d in lead(failures).diagnoses] == ["recursion"]


def test_of_a_wrong_value_all_else_is_a_consequence() -> None:
    failures = failing(lambda found: of_state(found, {"h": 2 * found.states[0].values["h"]}, {"x": np.ones(3)}))
    (engine,) = failures.context.engines.tested
    assert has_wrong_values(failures, engine)
    cause = lead(failures)
    assert cause.tensor == "h"
    assert cause.cause is not None
    assert cause.cause.origin == fact("op_at", op="tanh", entry="h")
    assert [d.kind for d in cause.diagnoses][:1] == ["factor"]
    assert {c.consequence_of for c in failures.comparisons if c.status == "failed" and c is not cause} == {
        cause.cause.origin
    }


def test_inputs_that_were_changed_explain_wrong_values() -> None:
    failures = failing(lambda found: replace(found, changed={"x": np.zeros(3)}))
    (engine,) = failures.context.engines.tested
    assert has_wrong_values(failures, engine)
    assert [d.kind for d in lead(failures).diagnoses] == ["input_mutated"]
