"""Compare the errors that steps raise: with the reference, and the case."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from gradcheck.checks.points.point import Point
from gradcheck.checks.result import Comparison, Failure, Status, Subject
from gradcheck.engines.base import Engine, Evaluation
from gradcheck.errors import Place, TensorError
from gradcheck.facts import Fact, fact
from gradcheck.language.case import Case
from gradcheck.language.claim_kind import ClaimKind


def place_of(case: Case, tensor: str) -> Place:
    """Return where a tensor, or a part of one (`m[0]`), is defined."""
    name = tensor.partition("[")[0]
    found = case.graph.get(name) or case.inputs.get(name) or case.constants.get(name)
    return found.place if found else case.place


def engine_subject(point: Point, what: ClaimKind, name: str, engine: Engine, step: int = 0) -> Subject:
    """Return the subject of an engine's claim against the reference."""
    place, reference = place_of(point.problem.case, name), point.engines.reference.name
    return Subject(what, name, step, engine.name, reference, place, "", point.trial)


def outcome(error: TensorError | None) -> Fact:
    """Return the fact for an error of a step or op, or for none."""
    return fact("raised", error=error.kind, text=str(error)) if error else fact("raised_nothing")


def compare_outcomes(case: Case, got: Evaluation, want: Evaluation) -> Iterator[Comparison]:
    """Yield a comparison for each step that raised, or should have."""
    if not (got.states and want.states):  # the first forward pass failed in at least one
        yield _outcomes_of(case, 0, got, want)
        return
    for index, (mine, theirs) in enumerate(zip(got.states, want.states, strict=False)):
        if mine.error or theirs.error or case.steps[index].raises:
            yield _outcomes_of(case, index, got, want)
    shorter = min(len(got.states), len(want.states))
    if len(got.states) != len(want.states) and not (got.states[-1].error or want.states[-1].error):
        subject = Subject(ClaimKind.RAISES, "", shorter, got.engine, want.engine, case.place)
        ran = (len(got.states), len(want.states))
        yield subject.failed(fact("ran_fewer_steps", got=got.engine, want=want.engine, steps=max(ran), ran=ran))


def _outcomes_of(case: Case, index: int, got: Evaluation, want: Evaluation) -> Comparison:
    mine, theirs = _error_at(got, index), _error_at(want, index)
    failed_at = got.failed_at or want.failed_at
    kinds = (mine.kind if mine else None, theirs.kind if theirs else None)
    subject = _subject(case, index, failed_at, got.engine, want.engine)
    status: Status = "unsupported" if "unsupported" in kinds else "passed" if kinds[0] == kinds[1] else "failed"
    differ = fact("outcomes_differ", got=got.engine, got_outcome=outcome(mine), want=want.engine,
                  want_outcome=outcome(theirs))  # fmt: skip
    notes = (fact("reference_would_go_on", engine=want.engine),) if theirs and theirs.library_would_continue else ()
    lacks = missing_feature_fields(status, mine, theirs)
    if status == "passed":
        return Comparison(subject, status, notes=notes, **lacks)
    code = mine.code if mine and status == "failed" else None
    return Comparison(subject, status, mismatch=differ, notes=notes, code=code, **lacks)


def missing_feature_fields(status: Status, mine: TensorError | None, theirs: TensorError | None) -> dict[str, Any]:
    """Return the comparison's fields for a feature that a side lacks."""
    if status != "unsupported":
        return {}
    if mine is None or not mine.lacks:
        return {"lacks": theirs.lacks if theirs else "", "reference_lacks": bool(theirs and theirs.lacks)}
    return {"lacks": mine.lacks}


def _error_at(evaluation: Evaluation, index: int) -> TensorError | None:
    return evaluation.states[index].error if evaluation.states else evaluation.error


def _subject(case: Case, index: int, failed_at: str, engine: str, reference: str) -> Subject:
    step = case.steps[index]
    place = place_of(case, failed_at) if failed_at else step.place
    return Subject(ClaimKind.RAISES, failed_at or next(iter(step.roots), ""), index, engine, reference, place)


def compare_with_case(case: Case, evaluation: Evaluation) -> Iterator[Comparison]:
    """Compare raised errors with the case's, except unsupported steps."""
    for index in range(len(evaluation.states) or 1):
        error, stated = _error_at(evaluation, index), case.steps[index].raises
        kind = error.kind if error else None
        if kind == "unsupported" or (kind is None and stated is None):
            continue
        subject = _subject(case, index, evaluation.failed_at, evaluation.engine, "case")
        if kind == stated:
            yield subject.passed()
        else:
            came = outcome(error)
            yield subject.failed(
                fact("not_as_asked", engine=evaluation.engine, came=came, step=index + 1, asked=stated)
            )


def unexpected_errors(case: Case, evaluations: Mapping[str, Evaluation]) -> Iterator[Failure]:
    """Yield errors unlike the case states, each once with all its engines."""
    raised: dict[tuple[int, str], list[tuple[str, Failure]]] = {}
    for name, evaluation in evaluations.items():
        for step, failure in _unexpected_steps(case, evaluation):
            raised.setdefault((step, failure.kind), []).append((name, failure))
    for found in raised.values():
        engines = tuple(name for name, _ in found)
        yield replace(found[0][1], message=fact("in_engines", what=found[0][1].message, engines=engines))


def _unexpected_steps(case: Case, evaluation: Evaluation) -> Iterator[tuple[int, Failure]]:
    if not evaluation.states and evaluation.error:
        yield from _broken_forward(case, evaluation, evaluation.error)
        return
    for index, (step, state) in enumerate(zip(case.steps, evaluation.states, strict=False)):
        kind = state.error.kind if state.error else None
        if kind in (step.raises, "unsupported"):
            continue
        if state.error is None:
            yield index, Failure("not_raised", fact("not_raised", step=index + 1, asked=step.raises), step.place)
            continue
        came = fact("step_raised", step=index + 1, error=kind, asked=step.raises, text=state.error.message)
        yield index, Failure(state.error.kind, came, step.place, state.error.hint)


def _broken_forward(case: Case, evaluation: Evaluation, error: TensorError) -> Iterator[tuple[int, Failure]]:
    if error.kind == "unsupported":
        return
    if error.kind != case.steps[0].raises:
        where = place_of(case, evaluation.failed_at)
        broke = fact("forward_raised", entry=evaluation.failed_at, text=error.message)
        yield 0, Failure(error.kind, broke, where, error.hint)
        return
    for index, step in enumerate(case.steps[1:], 1):
        why = fact("step_not_run", step=index + 1, entry=evaluation.failed_at)
        yield index, Failure("not_run", why, step.place)
