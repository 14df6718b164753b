"""One engine's evaluation against another's: values, gradients, and what must not be changed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gradcheck.autograd.modes import quiet
from gradcheck.checks.claims.evaluations import (
    applies,
    check,
    compare_evaluations,
    compare_outcomes,
    compare_with_case,
    outcome,
    place_of,
    unexpected_errors,
)
from gradcheck.checks.result import Comparison, Trial
from gradcheck.engines.base import Evaluation, State
from gradcheck.errors import BackwardTwice, DomainError, TensorError, Unsupported
from gradcheck.facts import fact
from gradcheck.language.claim_kind import ClaimKind
from tests.checks.build import context_of, point_of
from tests.checks.conftest import Check
from tests.from_text import case_of

CASE_OF_STEPS = case_of(
    "{inputs: {x: [1, 2]}, graph: {y: x * x, loss: y.sum()}, steps: [{backward: loss}, {backward: loss}]}"
)
ASKING = case_of(
    "{inputs: {x: [1, 2]}, graph: {y: x * x}, steps: [{backward: y, raises: non_scalar_backward}, {zero_grad: x}]}"
)
SINGULAR = DomainError("singular")


def ran(engine: str, *errors: TensorError | None) -> Evaluation:
    return Evaluation(engine, tuple(State({}, {}, error) for error in errors))


def broke(engine: str, error: TensorError | None, at: str = "y") -> Evaluation:
    return Evaluation(engine, (), error, at)


def test_places_are_where_tensors_are_defined() -> None:
    assert place_of(CASE_OF_STEPS, "y") == CASE_OF_STEPS.graph["y"].place
    assert place_of(CASE_OF_STEPS, "y[0]") == CASE_OF_STEPS.graph["y"].place
    assert place_of(CASE_OF_STEPS, "nobody") == CASE_OF_STEPS.place


def test_an_outcome_is_what_was_raised() -> None:
    assert outcome(None) == fact("raised_nothing")
    assert outcome(SINGULAR) == fact("raised", error="domain_error", text="singular")


def test_nothing_is_compared_where_nothing_was_raised_or_asked_for() -> None:
    assert list(compare_outcomes(CASE_OF_STEPS, ran("core", None, None), ran("torch", None, None))) == []
    assert list(compare_with_case(CASE_OF_STEPS, ran("core", None, None))) == []


def test_two_that_raise_the_same_agree_and_one_alone_fails() -> None:
    (same,) = compare_outcomes(CASE_OF_STEPS, ran("core", None, SINGULAR), ran("torch", None, SINGULAR))
    assert (same.status, same.step) == ("passed", 1)
    (alone,) = compare_outcomes(CASE_OF_STEPS, ran("core", SINGULAR), ran("torch", None, None))
    assert (alone.status, alone.step) == ("failed", 0)
    assert alone.mismatch is not None
    assert alone.mismatch["want_outcome"] == fact("raised_nothing")


def test_what_an_engine_cannot_express_is_no_failure() -> None:
    missing = TensorError("no matmul")
    missing.kind, missing.lacks = Unsupported.kind, "matmul"
    (found,) = compare_outcomes(CASE_OF_STEPS, broke("mine", missing), ran("torch", None, None))
    assert (found.status, found.lacks, found.tensor) == ("unsupported", "matmul", "y")
    assert list(compare_with_case(CASE_OF_STEPS, broke("mine", missing))) == []
    assert list(unexpected_errors(CASE_OF_STEPS, {"mine": broke("mine", missing)})) == []


def test_an_engine_that_stops_without_an_error_fails() -> None:
    (found,) = compare_outcomes(CASE_OF_STEPS, ran("core", None), ran("torch", None, None))
    assert found.mismatch == fact("ran_fewer_steps", got="core", want="torch", steps=2, ran=(1, 2))


def test_a_reference_that_would_go_on_is_noted() -> None:
    twice = BackwardTwice("twice")
    twice.library_would_continue = True
    (found,) = compare_outcomes(CASE_OF_STEPS, ran("core", None, BackwardTwice("twice")), ran("torch", None, twice))
    assert found.notes == (fact("reference_would_go_on", engine="torch"),)


def test_the_case_says_what_is_to_be_raised() -> None:
    (missing,) = compare_with_case(ASKING, ran("core", None, None))
    assert missing.mismatch == fact(
        "not_as_asked", engine="core", came=fact("raised_nothing"), step=1, asked="non_scalar_backward"
    )
    (surprise,) = compare_with_case(CASE_OF_STEPS, ran("core", SINGULAR))
    assert surprise.mismatch is not None
    assert surprise.mismatch["asked"] is None


@pytest.mark.parametrize(
    ("case", "evaluation", "kinds"),
    [
        (CASE_OF_STEPS, ran("core", None, None), []),
        (CASE_OF_STEPS, ran("core", None, SINGULAR), ["domain_error"]),
        (ASKING, ran("core", None, None), ["not_raised"]),
        (CASE_OF_STEPS, broke("core", SINGULAR), ["domain_error"]),
    ],
)
def test_what_nobody_asked_for_is_an_error_of_the_case(case: object, evaluation: Evaluation, kinds: list[str]) -> None:
    assert [failure.kind for failure in unexpected_errors(case, {"core": evaluation})] == kinds  # type: ignore[arg-type]


def test_engines_that_fail_alike_are_told_together() -> None:
    (failure,) = unexpected_errors(CASE_OF_STEPS, {name: ran(name, SINGULAR) for name in ("torch", "core")})
    assert failure.message["engines"] == ("torch", "core")


def test_where_the_forward_raises_as_asked_later_steps_are_said_not_to_run() -> None:
    steps = "steps: [{backward: y, raises: shape_mismatch}, {zero_grad: x}]"
    text = f"{{inputs: {{x: [1, 2]}}, graph: {{y: 'x.reshape(3)'}}, {steps}}}"
    error = TensorError("no")
    error.kind = "shape_mismatch"
    (failure,) = unexpected_errors(case_of(text), {"core": broke("core", error)})
    assert failure.message["what"] == fact("step_not_run", step=2, entry="y")


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
