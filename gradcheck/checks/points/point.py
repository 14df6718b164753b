"""A problem with the engines' evaluations; `drawing` creates points."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

from gradcheck.checks.closeness.conditioning import Conditioning
from gradcheck.checks.options import Engines
from gradcheck.checks.result import Trial
from gradcheck.checks.scope import Scope
from gradcheck.engines.base import Application, Engine, Evaluation
from gradcheck.engines.core import Core, applications_of
from gradcheck.engines.define_by_run import DefineByRun
from gradcheck.engines.recording import Recorder
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
