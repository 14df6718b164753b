"""All that belongs to one case while it is checked."""

from __future__ import annotations

from gradcheck.checks.result import Failure, Subject
from gradcheck.facts import fact
from gradcheck.language.claim_kind import ClaimKind
from tests.checks.build import context_of

SQUARE = "{inputs: {x: [1, 2]}, graph: {y: x * x, loss: y.sum()}, only: [core]}"


def test_a_context_is_in_the_runs_dtype_and_with_the_engines_that_are_meant() -> None:
    context = context_of(SQUARE, engines=("core", "torch"), dtype="float32")
    assert context.case.dtype == "float32"
    assert context.points.own.problem.inputs["x"].dtype == "float32"
    assert [engine.name for engine in context.engines.tested] == ["core"]


def test_a_case_can_be_judged_if_the_reference_evaluates_it_and_nothing_unasked_was_raised() -> None:
    context = context_of(SQUARE)
    assert context.can_be_checked
    context.errors = (Failure("domain_error", fact("said", text="no")),)
    assert not context.can_be_checked
    assert not context_of("{inputs: {x: [1, 2]}, graph: {y: 'x.reshape(3)'}}").can_be_checked


def test_what_was_found_is_amended_in_place() -> None:
    context = context_of(SQUARE)
    context.found = [Subject(kind, "x").passed() for kind in (ClaimKind.GRADIENT, ClaimKind.FORMULA)]
    context.amend(lambda c: c.what is ClaimKind.FORMULA, lambda c: c.with_notes(fact("no_elements")))
    assert [c.has_note("no_elements") for c in context.found] == [False, True]
