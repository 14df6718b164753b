"""One engine's evaluation against another's: values, gradients, and what must not be changed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gradcheck.autograd.modes import quiet
from gradcheck.checks.claims.evaluations import applies, check, compare_evaluations
from gradcheck.checks.result import Comparison, Trial
from gradcheck.engines.base import Evaluation, State
from gradcheck.facts import fact
from gradcheck.language.claim_kind import ClaimKind
from tests.checks.build import context_of, point_of
from tests.checks.conftest import Check

CASE = "{inputs: {x: [1.0, 2.0]}, constants: {k: [3.0]}, graph: {y: x * k, loss: y.sum()}}"


def compared(change: object = None) -> dict[tuple[str, str], Comparison]:
    """The comparisons of a changed evaluation with the reference's, by kind and tensor."""
    point = point_of(CASE)
    want = point.want
    got = Evaluation("mine", want.states)
    if callable(change):
        got = change(got)
    with quiet():
        return {(c.what, c.tensor): c for c in compare_evaluations(point.problem, got, want)}


def with_state(got: Evaluation, values: dict[str, np.ndarray], gradients: dict[str, np.ndarray | None]) -> Evaluation:
    (state,) = got.states
    return replace(got, states=(State({**state.values, **values}, {**state.gradients, **gradients}),))


def test_values_of_the_graph_and_all_gradients_are_compared() -> None:
    found = compared()
    assert {key for key, c in found.items() if c.status == "passed"} == set(found)
    assert set(found) == {("value", "y"), ("value", "loss")} | {("gradient", name) for name in ("x", "y", "loss")}
    assert {(c.engine, c.reference) for c in found.values()} == {("mine", "torch")}


def test_a_wrong_value_and_a_wrong_gradient_fail_alone() -> None:
    found = compared(lambda got: with_state(got, {"y": np.array([3.0, 7.0])}, {"x": np.array([3.0, 3.1])}))
    assert {key for key, c in found.items() if c.status == "failed"} == {("value", "y"), ("gradient", "x")}
    assert found["gradient", "x"].worst_index == (1,)


def test_a_gradient_that_nobody_compares_is_a_failure() -> None:
    def silent(got: Evaluation) -> Evaluation:
        (state,) = got.states
        return replace(got, states=(State(state.values, {n: g for n, g in state.gradients.items() if n != "y"}),))

    failed = compared(silent)["gradient", "y"]
    assert (failed.status, failed.mismatch) == ("failed", fact("not_compared", engine="mine"))


def test_inputs_and_constants_are_nobodys_to_change() -> None:
    found = compared(lambda got: replace(got, changed={"x": np.array([1.0, 3.0])}))["value", "x"]
    assert (found.status, found.mismatch) == ("failed", fact("input_changed", engine="mine", tensor="x"))


def test_values_are_compared_again_after_a_forward() -> None:
    point = point_of(
        "{inputs: {x: [1.0]}, graph: {y: x * x}, steps: [{backward: y}, {forward: {x: [3.0]}}, {backward: y}]}"
    )
    found = compare_evaluations(point.problem, point.want, point.want)
    assert [c.step for c in found if c.what is ClaimKind.VALUE and c.tensor == "y"] == [0, 1]


def test_a_trial_is_part_of_what_is_compared() -> None:
    point, trial = point_of(CASE), Trial(1, 0, {})
    found = compare_evaluations(point.problem, point.want, point.want, None, trial)
    assert all(c.trial == trial for c in found)


def test_the_stage_compares_every_engine_and_asks_the_case_about_outcomes() -> None:
    context = context_of(CASE, engines=("core", "torch"))
    assert applies(context)
    assert {c.engine for c in check(context)} == {"core", "torch"}


def test_a_gradient_of_nan_is_no_mans(check: Check) -> None:
    text = "{inputs: {x: [[1.0, 2.0], [3.0, 1.0]]}, graph: {y: logdet(x)}, formulas: {x: 'grad(y) * inv(x).T'}}"
    assert check(text, order=2).status == check(text, oracle="numeric").status == "passed"
    case = check(text)
    assert case.status == "passed"
    assert any(c.has_note("graph_is_nan") for c in case.comparisons)
