"""Compare two engines' outcomes, forward values and gradients."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from gradcheck.checks.closeness.compare import Pair, all_agree, compare, passed_comparison
from gradcheck.checks.closeness.rounding import allow_rounding
from gradcheck.checks.closeness.tolerance import EXACT, Tolerance, base, engine_tolerance
from gradcheck.checks.context import Context
from gradcheck.checks.points.degenerate import is_nowhere_defined, pass_as_undefined
from gradcheck.checks.points.point import Point
from gradcheck.checks.result import Comparison, Failure, Status, Subject, Trial
from gradcheck.engines.base import Engine, Evaluation, State
from gradcheck.errors import Place, TensorError
from gradcheck.facts import Fact, fact
from gradcheck.language.case import Case, StatedTolerance
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.language.problem import Problem


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


def applies(context: Context) -> bool:
    """Return True: a case whose graph cannot be evaluated is reported here."""
    return True


def check(context: Context) -> Iterator[Comparison]:
    """Compare engines with the reference, then raised errors with the case."""
    point = context.points.own
    for engine in context.engines.tested:
        yield from check_engine(point, point.evaluation(engine), context.options.tolerance)
    for evaluation in point.evaluations().values():
        yield from compare_with_case(context.case, evaluation)


def check_engine(point: Point, got: Evaluation, run: StatedTolerance | None) -> list[Comparison]:
    """Compare one engine with the reference at a point, allowing rounding."""
    found = compare_evaluations(point.problem, got, point.want, run, point.trial)
    return [_pass_if_undefined(point, c) for c in allow_rounding(found, point.conditioning)]


def _pass_if_undefined(point: Point, c: Comparison) -> Comparison:
    is_gradient = c.status == "failed" and c.what is ClaimKind.GRADIENT
    return pass_as_undefined(c) if is_gradient and is_nowhere_defined(point, c.step) else c


def compare_evaluations(
    problem: Problem, got: Evaluation, want: Evaluation, run: StatedTolerance | None = None, trial: Trial | None = None
) -> list[Comparison]:
    """Compare outcomes, values, gradients by step."""
    case = problem.case
    held = _EngineComparison(case, got.engine, want.engine, trial, run)
    found = [*compare_outcomes(case, got, want), *_changed_inputs(problem, got, held)]
    for index, (mine, theirs) in enumerate(zip(got.states, want.states, strict=False)):
        held.agrees = all_agree(_common_arrays(mine, theirs), held.tolerance)
        is_forward = case.steps[index].action == "forward"
        one_raised = bool(mine.error) != bool(theirs.error)
        if (index == 0 and not is_forward) or (is_forward and not one_raised):
            found += held.values(index, mine, theirs)
        if not one_raised:  # otherwise only one of them ran the step, which is reported above
            found += held.gradients(index, mine, theirs)
    return found


def _common_arrays(mine: State, theirs: State) -> list[Pair]:
    return [
        (array, other)
        for got, want in ((mine.values, theirs.values), (mine.gradients, theirs.gradients))
        for name, array in got.items()
        if array is not None and (other := want.get(name)) is not None and other is not array
    ]


def _changed_inputs(problem: Problem, got: Evaluation, held: _EngineComparison) -> Iterator[Comparison]:
    """Yield a failure for each input or constant that an engine changed."""
    if not got.changed:
        return
    given = {**problem.inputs, **problem.constants}
    for name, now in got.changed.items():
        found = compare(now, given[name], EXACT, replace(held.subject(ClaimKind.VALUE, name, 0), trial=None))
        yield replace(found, mismatch=fact("input_changed", engine=got.engine, tensor=name))


@dataclass(slots=True)
class _EngineComparison:
    """An engine, the reference, and their tolerances."""

    case: Case
    engine: str
    reference: str
    trial: Trial | None
    run: StatedTolerance | None
    agrees: bool = False  # whether all arrays of the step agree, compared together
    _tolerances: dict[np.dtype, Tolerance] = field(default_factory=dict)
    _base_subject: Subject = field(init=False)

    def __post_init__(self) -> None:
        place = self.case.place
        self._base_subject = Subject(ClaimKind.VALUE, "", 0, self.engine, self.reference, place, "", self.trial)

    def _compare(self, got: np.ndarray | None, want: np.ndarray | None, subject: Subject) -> Comparison:
        if self.agrees and got is not None and want is not None:
            return passed_comparison(want, subject)
        return compare(got, want, self.tolerance(want), subject)

    def subject(self, what: ClaimKind, name: str, step: int) -> Subject:
        return self._base_subject.of(name, what=what, step=step, place=place_of(self.case, name))

    def tolerance(self, array: np.ndarray | None) -> Tolerance:
        if array is None:
            return base(np.dtype(np.float64))
        known = self._tolerances.get(array.dtype)
        if known is None:
            known = engine_tolerance(array.dtype, self.case.engine_tolerance, self.run)
            self._tolerances[array.dtype] = known
        return known

    def values(self, step: int, mine: State, theirs: State) -> Iterator[Comparison]:
        """Yield a comparison for each tensor of the graph."""
        for name in {**mine.values, **theirs.values}:
            if name not in self.case.inputs and name not in self.case.constants:
                subject = self.subject(ClaimKind.VALUE, name, step)
                yield self._compare(mine.values.get(name), theirs.values.get(name), subject)

    def gradients(self, step: int, mine: State, theirs: State) -> Iterator[Comparison]:
        """Yield a comparison for each gradient; one that only one side has fails."""
        got, want = mine.gradients, theirs.gradients
        for name in {**want, **got}:
            if name in mine.unread or name in theirs.unread:
                continue
            subject = self.subject(ClaimKind.GRADIENT, name, step)
            if name not in self.case.constants and (name not in got or name not in want):
                silent = self.reference if name in got else self.engine
                yield subject.failed(fact("not_compared", engine=silent))
            else:
                yield self._compare(got.get(name), want.get(name), subject)
