"""Which steps raised something: in an engine against the reference, and against what the case says."""

from __future__ import annotations

import pytest

from gradcheck.checks.claims.outcomes import compare_outcomes, compare_with_case, outcome, place_of, unexpected_errors
from gradcheck.engines.base import Evaluation, State
from gradcheck.errors import BackwardTwice, DomainError, TensorError, Unsupported
from gradcheck.facts import fact
from tests.from_text import case_of

CASE = case_of("{inputs: {x: [1, 2]}, graph: {y: x * x, loss: y.sum()}, steps: [{backward: loss}, {backward: loss}]}")
ASKING = case_of(
    "{inputs: {x: [1, 2]}, graph: {y: x * x}, steps: [{backward: y, raises: non_scalar_backward}, {zero_grad: x}]}"
)
SINGULAR = DomainError("singular")


def ran(engine: str, *errors: TensorError | None) -> Evaluation:
    return Evaluation(engine, tuple(State({}, {}, error) for error in errors))


def broke(engine: str, error: TensorError | None, at: str = "y") -> Evaluation:
    return Evaluation(engine, (), error, at)


def test_places_are_where_tensors_are_defined() -> None:
    assert place_of(CASE, "y") == CASE.graph["y"].place
    assert place_of(CASE, "y[0]") == CASE.graph["y"].place
    assert place_of(CASE, "nobody") == CASE.place


def test_an_outcome_is_what_was_raised() -> None:
    assert outcome(None) == fact("raised_nothing")
    assert outcome(SINGULAR) == fact("raised", error="domain_error", text="singular")


def test_nothing_is_compared_where_nothing_was_raised_or_asked_for() -> None:
    assert list(compare_outcomes(CASE, ran("core", None, None), ran("torch", None, None))) == []
    assert list(compare_with_case(CASE, ran("core", None, None))) == []


def test_two_that_raise_the_same_agree_and_one_alone_fails() -> None:
    (same,) = compare_outcomes(CASE, ran("core", None, SINGULAR), ran("torch", None, SINGULAR))
    assert (same.status, same.step) == ("passed", 1)
    (alone,) = compare_outcomes(CASE, ran("core", SINGULAR), ran("torch", None, None))
    assert (alone.status, alone.step) == ("failed", 0)
    assert alone.mismatch is not None
    assert alone.mismatch["want_outcome"] == fact("raised_nothing")


def test_what_an_engine_cannot_express_is_no_failure() -> None:
    missing = TensorError("no matmul")
    missing.kind, missing.lacks = Unsupported.kind, "matmul"
    (found,) = compare_outcomes(CASE, broke("mine", missing), ran("torch", None, None))
    assert (found.status, found.lacks, found.tensor) == ("unsupported", "matmul", "y")
    assert list(compare_with_case(CASE, broke("mine", missing))) == []
    assert list(unexpected_errors(CASE, {"mine": broke("mine", missing)})) == []


def test_an_engine_that_stops_without_an_error_fails() -> None:
    (found,) = compare_outcomes(CASE, ran("core", None), ran("torch", None, None))
    assert found.mismatch == fact("ran_fewer_steps", got="core", want="torch", steps=2, ran=(1, 2))


def test_a_reference_that_would_go_on_is_noted() -> None:
    twice = BackwardTwice("twice")
    twice.library_would_continue = True
    (found,) = compare_outcomes(CASE, ran("core", None, BackwardTwice("twice")), ran("torch", None, twice))
    assert found.notes == (fact("reference_would_go_on", engine="torch"),)


def test_the_case_says_what_is_to_be_raised() -> None:
    (missing,) = compare_with_case(ASKING, ran("core", None, None))
    assert missing.mismatch == fact(
        "not_as_asked", engine="core", came=fact("raised_nothing"), step=1, asked="non_scalar_backward"
    )
    (surprise,) = compare_with_case(CASE, ran("core", SINGULAR))
    assert surprise.mismatch is not None
    assert surprise.mismatch["asked"] is None


@pytest.mark.parametrize(
    ("case", "evaluation", "kinds"),
    [
        (CASE, ran("core", None, None), []),
        (CASE, ran("core", None, SINGULAR), ["domain_error"]),
        (ASKING, ran("core", None, None), ["not_raised"]),
        (CASE, broke("core", SINGULAR), ["domain_error"]),
    ],
)
def test_what_nobody_asked_for_is_an_error_of_the_case(case: object, evaluation: Evaluation, kinds: list[str]) -> None:
    assert [failure.kind for failure in unexpected_errors(case, {"core": evaluation})] == kinds  # type: ignore[arg-type]


def test_engines_that_fail_alike_are_told_together() -> None:
    (failure,) = unexpected_errors(CASE, {name: ran(name, SINGULAR) for name in ("torch", "core")})
    assert failure.message["engines"] == ("torch", "core")


def test_where_the_forward_raises_as_asked_later_steps_are_said_not_to_run() -> None:
    steps = "steps: [{backward: y, raises: shape_mismatch}, {zero_grad: x}]"
    text = f"{{inputs: {{x: [1, 2]}}, graph: {{y: 'x.reshape(3)'}}, {steps}}}"
    error = TensorError("no")
    error.kind = "shape_mismatch"
    (failure,) = unexpected_errors(case_of(text), {"core": broke("core", error)})
    assert failure.message["what"] == fact("step_not_run", step=2, entry="y")
