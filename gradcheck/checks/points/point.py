"""A problem with the engines' evaluations, and whether it is usable.

Code may have a narrower domain than its entry: an assertion about numbers, a size that is a multiple of a block, an
array of its own, against which an argument of size 1 is broadcast.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from gradcheck.autograd.dtypes import wide
from gradcheck.checks.closeness.conditioning import Conditioning
from gradcheck.checks.options import Engines
from gradcheck.checks.result import Trial
from gradcheck.checks.scope import Scope
from gradcheck.engines.base import Application, Engine, Evaluation
from gradcheck.engines.core import Core, applications_of
from gradcheck.engines.define_by_run import DefineByRun
from gradcheck.engines.recording import Recorder
from gradcheck.facts import Fact, fact
from gradcheck.forks import end_fork
from gradcheck.language.case import Case
from gradcheck.language.problem import Problem


class Point:
    """A problem with evaluations, conditioning and scopes, each computed once."""

    def __init__(
        self,
        problem: Problem,
        engines: Engines,
        trial: Trial | None = None,
        evaluations: dict[str, Evaluation] | None = None,
    ) -> None:
        """Take known `evaluations`, by the engines' names."""
        self.problem, self.engines, self.trial = problem, engines, trial  # None for the case's own numbers
        self.may_be_off_by_rounding = False  # whether rounding explains some formula's error here
        self._evaluations: dict[str, Evaluation] = {} if evaluations is None else evaluations
        self._applications: list[Application] | None = None
        self._scopes: dict[int, Scope] = {}
        self._same_steps_point: Point | None = None  # this point in a case with the same steps
        self._same_graph_point: Point | None = None  # this point in a case with the same graph

    def evaluation(self, engine: Engine) -> Evaluation:
        """Return an engine's evaluation of the problem."""
        found = self._evaluations.get(engine.name)
        if found is None:
            found = self._evaluations[engine.name] = self._evaluate(engine)
            end_fork()
        return found

    def _evaluate(self, engine: Engine) -> Evaluation:
        return engine.evaluate(self.problem)

    def evaluations(self) -> dict[str, Evaluation]:
        """Return all engines' evaluations by name, the reference's first."""
        return {engine.name: self.evaluation(engine) for engine in self.engines.all}

    @property
    def want(self) -> Evaluation:
        """The reference's evaluation."""
        return self.evaluation(self.engines.reference)

    @cached_property
    def conditioning(self) -> Conditioning:
        """The rounding allowances here."""
        if self._same_steps_point is not None:
            return self._same_steps_point.conditioning
        known = None if self._same_graph_point is None else self._same_graph_point.conditioning
        return Conditioning(self.engines.reference, self.problem, self.want, known)

    @property
    def applications(self) -> list[Application]:
        """The differentiable ops of the graph; none if it cannot be evaluated."""
        if self._applications is None:
            self._applications = applications_of(self.problem)
        return self._applications

    def record(self, engine: Engine) -> Recorder | None:
        """Return the calls of an engine's evaluation, or None."""
        return None

    def scope(self, step: int) -> Scope:
        """Return the names that claims may use after a step, by the reference."""
        if step not in self._scopes:
            reference = self.engines.reference
            engine = reference if isinstance(reference, DefineByRun) else None
            self._scopes[step] = Scope(self.problem, self.want.states[step], engine=engine)
        return self._scopes[step]

    def with_claims(self, case: Case) -> Point:
        """Return the point with other claims; evaluations are shared."""
        made = Point(replace(self.problem, case=case), self.engines, self.trial, self._evaluations)
        if case.let == self.problem.case.let:
            made._same_steps_point, made._scopes = self, self._scopes
        made._same_graph_point = self
        return made

    @property
    def last_step(self) -> int:
        """The case's last step, which top-level claims are about."""
        return len(self.problem.case.steps) - 1

    @property
    def is_complete(self) -> bool:
        """True if the reference has run every step."""
        return len(self.want.states) == len(self.problem.case.steps)


class CasePoint(Point):
    """The case's own numbers, at which engines record their calls."""

    _core_record: Recorder | None = None
    _records: dict[str, Recorder] | None = None

    def _evaluate(self, engine: Engine) -> Evaluation:
        is_core = isinstance(engine, Core)
        if not isinstance(engine, DefineByRun) or (is_core and self._core_record is not None):
            return super()._evaluate(engine)
        recorder = engine.recorder()
        if recorder is None:
            return super()._evaluate(engine)
        found = engine.evaluate(self.problem, recorder=recorder)
        if recorder.closed:  # a subclass may not have recorded anything
            self._records = {**(self._records or {}), engine.name: recorder}
            self._core_record = recorder if is_core else self._core_record
        return found

    @property
    def applications(self) -> list[Application]:
        if self._applications is None and self._core_record is not None:
            self._applications = self._core_record.applications()
        return super().applications

    def record(self, engine: Engine) -> Recorder | None:
        self.evaluation(engine)
        return None if self._records is None else self._records.get(engine.name)


def rejection_reason(point: Point) -> Fact | None:
    """Return why a point is not usable: undefined, or an unexpected error."""
    if not point.want.states:
        return fact("said", text=str(point.want.error))
    for step, state in zip(point.problem.case.steps, point.want.states, strict=False):
        kind = state.error.kind if state.error else None
        if kind != step.raises:
            return fact("said", text=str(state.error)) if state.error else fact("not_raised_here", error=step.raises)
    return None


def is_informative(point: Point) -> bool:
    """Return whether each formula's gradient has a finite, nonzero element."""
    if not point.is_complete:
        return False
    gradients = point.scope(point.last_step).gradients
    arrays = [wide(gradients[name]) for name in point.problem.case.formulas if name in gradients]
    return all(bool(np.any(np.isfinite(array) & (array != 0))) for array in arrays)


@dataclass(frozen=True, slots=True)
class Refusal:
    """The error of code at a drawn point, or an input whose size it keeps."""

    text: str
    sizes: Mapping[str, int]
    kept: str = ""


def refusal_at(point: Point, engine: Engine, given: Problem) -> Refusal | None:
    """Return why a drawn point is outside the code's domain, if it is."""
    found = point.evaluation(engine)
    error = found.error or next((state.error for state in found.states if state.error), None)
    if error is not None:
        return Refusal(error.message, point.problem.sizes) if error.kind == "code_raised" else None
    kept = _input_with_kept_size(found, point.problem, given)
    return Refusal("", point.problem.sizes, kept) if kept else None


def _input_with_kept_size(found: Evaluation, drawn: Problem, given: Problem) -> str:
    """Return an input of size 1 whose gradient has the size that was given."""
    for name, gradient in (pair for state in found.states for pair in state.gradients.items()):
        if gradient is not None and name in drawn.inputs and name in given.inputs:
            now, before = drawn.inputs[name].shape, given.inputs[name].shape
            is_broadcast = len(now) == gradient.ndim == len(before) and all(
                size == one or (one == 1 and size == own)
                for size, one, own in zip(gradient.shape, now, before, strict=True)
            )
            if gradient.shape != now and is_broadcast:
                return name
    return ""


def narrower_domain(engine: Engine, refusals: Sequence[Refusal]) -> Fact:
    """Return the fact that the code is not checked at these points."""
    first = next((one for one in refusals if one.text), refusals[0])
    sizes = tuple(f"{word} = {size}" for word, size in first.sizes.items())
    return fact(
        "narrower_domain", engine=engine.name, count=len(refusals), text=first.text, kept=first.kept, sizes=sizes
    )
