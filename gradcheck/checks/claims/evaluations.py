"""Compare two engines' outcomes, forward values and gradients."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from gradcheck.checks.claims.outcomes import compare_outcomes, compare_with_case, place_of
from gradcheck.checks.closeness.compare import Pair, all_agree, compare_quietly, passed_comparison
from gradcheck.checks.closeness.rounding import allow_rounding
from gradcheck.checks.closeness.tolerance import EXACT, Tolerance, base, engine_tolerance
from gradcheck.checks.context import Context
from gradcheck.checks.points.degenerate import is_nowhere_defined, pass_as_undefined
from gradcheck.checks.points.point import Point
from gradcheck.checks.result import Comparison, Subject, Trial
from gradcheck.engines.base import Evaluation, State
from gradcheck.facts import fact
from gradcheck.language.case import Case, StatedTolerance
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.language.problem import Problem


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
    """Compare outcomes, values, gradients by step; NumPy must not warn."""
    case = problem.case
    held = _EngineComparison(case, got.engine, want.engine, trial, run)
    found = [*compare_outcomes(case, got, want), *_changed_inputs(problem, got, held)]
    for index, (mine, theirs) in enumerate(zip(got.states, want.states, strict=False)):
        held.agrees = all_agree(_common_arrays(mine, theirs), held.tolerance)
        is_forward = case.steps[index].action == "forward"
        one_raised = bool(mine.error) != bool(theirs.error)
        if (index == 0 and not is_forward) or (is_forward and not one_raised):
            found += held.values(index, mine, theirs)
        if not one_raised:  # otherwise only one of them ran the step, which `outcomes` reports
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
        found = compare_quietly(now, given[name], EXACT, replace(held.subject(ClaimKind.VALUE, name, 0), trial=None))
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
        return compare_quietly(got, want, self.tolerance(want), subject)

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
