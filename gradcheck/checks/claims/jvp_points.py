"""Tangents of all tensors at one point, along random directions of inputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.modes import using_default_dtype
from gradcheck.checks.claims.outcomes import engine_subject
from gradcheck.checks.claims.tangent_comparison import TangentComparison
from gradcheck.checks.closeness.rounding import recheck_with_allowance
from gradcheck.checks.closeness.tolerance import Tolerance, engine_tolerance
from gradcheck.checks.points.point import Point
from gradcheck.checks.result import Comparison, Subject
from gradcheck.engines.base import Engine
from gradcheck.engines.core import Core
from gradcheck.engines.define_by_run import DefineByRun, last_backward_step
from gradcheck.engines.double_precision import (
    double_precision_array,
    double_precision_backend,
    double_precision_problem,
)
from gradcheck.engines.jvp import Pushforward, problem_at_step, push_forward
from gradcheck.errors import GradcheckError
from gradcheck.facts import fact
from gradcheck.language.case import StatedTolerance
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.language.problem import Problem
from gradcheck.language.random_streams import random_directions, stream
from gradcheck.oracles.numeric.finite_differences import Estimate
from gradcheck.oracles.numeric.numeric_tangents import tangents_of_graph

Arrays = Mapping[str, np.ndarray | None]

_FLOAT64 = np.dtype(np.float64)


@dataclass
class JvpPoint:
    """Tangents at the last backward pass: of engines, reference, oracle."""

    point: Point
    run: StatedTolerance | None
    uses_oracle: bool

    def __post_init__(self) -> None:
        problem = self.point.problem
        last = last_backward_step(problem)
        self.has_pass, self.step = last is not None, last or 0
        self.problem = problem_at_step(problem, self.step)
        self.directions = random_directions(self.problem.inputs, stream(self.problem.seed, "directions of inputs"))
        self._pushforwards: dict[str, Pushforward] = {}

    @property
    def reference(self) -> Engine:
        """The engine that others are compared with."""
        return self.point.engines.reference

    def pushforward(self, engine: Engine) -> Pushforward | None:
        """Return an engine's tangents; None without forward mode."""
        if not isinstance(engine, DefineByRun):
            return None
        if engine.name not in self._pushforwards:
            self._pushforwards[engine.name] = push_forward(engine, self.problem, self.directions)
        return self._pushforwards[engine.name]

    @cached_property
    def oracle_tangents(self) -> Mapping[str, Estimate]:
        """The numeric oracle's tangents; empty if it is off or fails."""
        if not self.uses_oracle:
            return {}
        problem = double_precision_problem(self.problem)
        directions = {name: double_precision_array(direction) for name, direction in self.directions.items()}
        try:
            with using_default_dtype(dtypes.real_of(problem.dtype)), np.errstate(all="ignore"):
                return tangents_of_graph(problem, directions)
        except (GradcheckError, ValueError, TypeError, LookupError):  # only engines can evaluate this graph
            return {}

    def check(self, engine: Engine) -> Iterator[Comparison]:
        """Yield a comparison for each tensor, or one if there are no tangents."""
        mine = self.pushforward(engine)
        if mine is None or mine.error is not None:
            yield self._without_tangents(engine, mine)
            return
        theirs = self.pushforward(self.reference)
        known = theirs.tangents if theirs is not None and theirs.error is None else None
        for name, tangent in mine.tangents.items():
            subject = self.subject(ClaimKind.JVP, name, engine)
            comparison = self._comparison(tangent if known is None or known.get(name) is None else known[name], name)
            oracle = self.oracle_tangents.get(name)
            if known is not None:
                yield comparison.compare(tangent, known.get(name), oracle, subject)
            elif oracle is not None:
                yield comparison.compare_with_oracle(tangent, oracle, subject)

    def _without_tangents(self, engine: Engine, pushed: Pushforward | None) -> Comparison:
        subject = self.subject(ClaimKind.JVP, "", engine)
        error = None if pushed is None else pushed.error
        if error is None or error.kind == "unsupported":
            lacking = fact("no_forward_mode", engine=engine.name, why=str(error) if error else "")
            return Comparison(subject, "unsupported", mismatch=lacking, lacks="forward mode")
        raised = fact("engine_raised", engine=engine.name, error=error.kind, text=str(error))
        return subject.failed(raised)

    def subject(self, what: ClaimKind, name: str, engine: Engine) -> Subject:
        """Return the subject of an engine's claim about one tensor."""
        return engine_subject(self.point, what, name, engine, self.step)

    def tolerance(self, dtype: np.dtype) -> Tolerance:
        """Return the tolerance of engines."""
        return engine_tolerance(dtype, self.problem.case.engine_tolerance, self.run)

    def _comparison(self, array: np.ndarray | None, name: str) -> TangentComparison:
        conditioning = self.point.conditioning

        def recheck(failed: Comparison) -> Comparison:
            explained = self.allowance(name)
            found = recheck_with_allowance(failed, explained, conditioning.limit, self._precise.get(name))
            if found.status == "failed" and explained is None and conditioning.why_not:
                return found.with_notes(conditioning.why_not)
            return found

        tolerance = self.tolerance(_FLOAT64 if array is None else array.dtype)
        return TangentComparison(tolerance, conditioning.is_of_low_precision, lambda: self.allowance(name), recheck)

    def allowance(self, name: str) -> np.ndarray | None:
        """Return what rounding explains of a tangent; None if unknown."""
        return self._allowances.get(name)

    @cached_property
    def _allowances(self) -> Arrays:
        names = list(push_forward(Core(), self.problem, self.directions).tangents)

        def run(core: Core, problem: Problem) -> list[np.ndarray | None]:
            known = self._tangents(core, problem)
            return [known.get(name) for name in names]

        return dict(zip(names, self.point.conditioning.measure(run), strict=False))

    @cached_property
    def _precise(self) -> Arrays:
        """The reference's tangents in double precision, for lower ones."""
        if not self.point.conditioning.is_of_low_precision or not isinstance(self.reference, DefineByRun):
            return {}
        try:
            return self._tangents(
                double_precision_backend(self.reference), double_precision_problem(self.point.problem)
            )
        except GradcheckError:
            return {}

    def _tangents(self, engine: DefineByRun, problem: Problem) -> Arrays:
        """Return an engine's tangents of the problem. Raises TensorError."""
        here = problem_at_step(problem, self.step)
        ways = {name: way.astype(here.inputs[name].dtype, copy=False) for name, way in self.directions.items()}
        pushed = push_forward(engine, here, ways)
        if pushed.error is not None:
            raise pushed.error
        return pushed.tangents
