"""Engines that are unreliable, or wrong before any gradient is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from gradcheck.autograd.modes import quiet
from gradcheck.autograd.op import TABLE
from gradcheck.checks.claims import evaluations as stage
from gradcheck.checks.failures.engine_faults import is_unreliable
from gradcheck.checks.failures.point_failures import PointFailures
from gradcheck.checks.failures.wrong_values import has_wrong_values
from gradcheck.checks.result import Comparison
from gradcheck.engines.base import Evaluation, State
from gradcheck.engines.core import Core
from gradcheck.errors import TensorError
from gradcheck.facts import fact
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.reports.phrases.comparison_text import cause_text
from tests.checks.build import context_of
from tests.checks.conftest import Check
from tests.conftest import WithRules

CASE = "{inputs: {x: [1.0, 2.0, 0.5]}, graph: {h: tanh(x), loss: h.sum()}}"
TWO = """
    inputs: {x: [0.5, -1.0, 2.0]}
    graph: {a: tanh(x), b: tanh(a), c: x * 2, loss: (b * c).sum()}
"""


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


def test_one_op_at_two_places_is_told_of_and_what_is_not_behind_it_is_left_alone(
    check: Check, with_rules: WithRules
) -> None:
    with_rules("tanh", lambda g, y, x: TABLE["detach"](g) * (1 - y * y))
    case = check(TWO, mode="forward")
    wrong = {c.tensor for c in case.comparisons if c.status == "failed" and c.what is ClaimKind.JVP}
    assert wrong == {"a", "b", "loss"}
    assert {c.tensor for c in case.comparisons if c.cause} == {"a", "b"}
    assert all(c.cause or c.consequence_of for c in case.comparisons if c.status == "failed")


def test_a_rule_that_is_not_linear_is_named(check: Check, with_rules: WithRules) -> None:
    with_rules("tanh", lambda g, y, x: g * g * (1 - y * y))
    case = check(TWO, mode="forward")
    lead = next(c for c in case.comparisons if c.cause)
    assert [(d.kind, d.confidence) for d in lead.diagnoses] == [("not_linear", "confirmed")]


def test_a_constant_factor_is_named(check: Check, with_rules: WithRules) -> None:
    with_rules("tanh", lambda g, y, x: g * 3 * (1 - y * y))
    lead = next(c for c in check(TWO, mode="forward").comparisons if c.cause)
    assert [d.kind for d in lead.diagnoses] == ["factor"]


def test_a_rule_that_fails_in_reverse_is_the_cause_of_all(check: Check, with_rules: WithRules) -> None:
    with_rules("tanh", lambda g, y, x: -g * (1 - y * y))
    case = check(TWO, mode="both")
    causes = [c for c in case.comparisons if c.cause]
    assert {c.what for c in causes} == {ClaimKind.NODE}
    assert all(c.consequence_of for c in case.comparisons if c.status == "failed" and c.what is ClaimKind.NODE_JVP)
    assert cause_text(causes[0]).startswith("tanh at ")


def test_nothing_is_explained_where_nobody_asks(check: Check, with_rules: WithRules) -> None:
    with_rules("tanh", lambda g, y, x: -g * (1 - y * y))
    assert not [c for c in check(TWO, mode="forward", explained=False).comparisons if c.cause]
