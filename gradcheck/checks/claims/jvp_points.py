"""Tangents of all tensors at a point, compared with others and the oracle."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.dtypes import wide
from gradcheck.autograd.modes import using_default_dtype
from gradcheck.checks.claims.evaluations import engine_subject
from gradcheck.checks.closeness.agreement import Allowance, Answer, is_found_wrong, who_is_wrong
from gradcheck.checks.closeness.compare import compare
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
#: An error bar wider than this, relative to the largest element, confirms nothing.
_BLURRED = 1e-5
#: The accuracy of one-sided differences, relative to the largest element.
_KINK = 1e-5


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
            explained = self.allowances.get(name)
            found = recheck_with_allowance(failed, explained, conditioning.limit, self._precise.get(name))
            if found.status == "failed" and explained is None and conditioning.why_not:
                return found.with_notes(conditioning.why_not)
            return found

        tolerance = self.tolerance(_FLOAT64 if array is None else array.dtype)
        return TangentComparison(
            tolerance, conditioning.is_of_low_precision, lambda: self.allowances.get(name), recheck
        )

    @cached_property
    def allowances(self) -> Arrays:
        """The effect of rounding on each tangent, if known."""
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


@dataclass(frozen=True, slots=True)
class TangentComparison:
    """The tolerance of tangents, and how failures are compared again."""

    tolerance: Tolerance
    is_low: bool  # whether something is in less than double precision, unlike the oracle
    slack: Callable[[], np.ndarray | None]  # what rounding explains, computed for differences only
    recheck: Callable[[Comparison], Comparison]

    def compare(
        self, mine: np.ndarray | None, theirs: np.ndarray | None, oracle: Estimate | None, subject: Subject
    ) -> Comparison:
        """Compare an engine's tangent with another's; None means zeros."""
        mine, theirs = _zeros_if_missing(mine, theirs), _zeros_if_missing(theirs, mine)
        found = compare(mine, theirs, self.tolerance, subject)
        if found.status == "failed" and found.mask is not None:
            found = self.recheck(found)
        if oracle is None or mine is None or theirs is None or mine.shape != theirs.shape != oracle.value.shape:
            return found
        got, want = Answer(subject.engine, wide(mine).ravel()), Answer(subject.reference, wide(theirs).ravel())
        if found.status == "failed":
            return self._resolve_difference(found, got, want, oracle)
        return self._confirm_agreement(found, got, want, oracle)

    def compare_with_oracle(self, mine: np.ndarray | None, oracle: Estimate, subject: Subject) -> Comparison:
        """Compare an engine's tangent with the numeric oracle's alone."""
        mine = np.zeros(oracle.value.shape) if mine is None else mine
        subject = replace(subject, reference=oracle.method)
        right = np.where(oracle.kinked, wide(mine), oracle.value).astype(mine.dtype)
        found = compare(mine, right, self.tolerance, subject, np.where(oracle.kinked, 0.0, oracle.error))
        return self.recheck(found) if found.status == "failed" and found.mask is not None else found

    def _resolve_difference(self, failed: Comparison, got: Answer, want: Answer, oracle: Estimate) -> Comparison:
        """Decide a failure by the oracle."""
        if failed.mask is not None and _is_convention(failed.mask.ravel(), got, want, oracle):
            return replace(failed, status="not_differentiable", verdict=fact("convention_of_tangents"))
        judge = Answer(oracle.method, oracle.value.ravel(), oracle.error.ravel(), independent=True)
        if self.is_low and judge.agrees(got, self._allowance(want)):
            return failed.without_numbers("passed").with_notes(
                fact("differences_side_with", engine=got.name, reference=want.name)
            )
        verdict = who_is_wrong(got, want, [judge], self._allowance(want))
        if verdict is not None and is_found_wrong(verdict, want.name):
            return failed.without_numbers("passed", verdict=fact("reference_wrong", reference=want.name, what=verdict))
        return replace(failed, verdict=verdict)

    def _confirm_agreement(self, found: Comparison, got: Answer, want: Answer, oracle: Estimate) -> Comparison:
        """Confirm an agreement by the oracle."""
        judge = Answer(oracle.method, oracle.value.ravel(), oracle.error.ravel(), independent=True)
        allowance = self._allowance(got)
        scale = float(np.max(np.abs(got.values), initial=0.0))
        bar = float(np.max(judge.error, initial=0.0))
        if found.status != "passed" or np.any(oracle.kinked) or not bar <= _BLURRED * scale:
            return found
        if not judge.agrees(got, allowance):
            if self.is_low:
                return found
            slack = self.slack()
            if slack is not None and slack.size == got.values.size:
                allowance = Allowance(allowance.absolute + slack.ravel(), allowance.relative)
        if judge.agrees(got, allowance):
            return replace(found, certificate={"method": oracle.method, "error": bar})
        apart = fact("tangents_disagree", got=got.name, want=want.name, method=oracle.method)
        return replace(found, status="failed", mismatch=apart)

    def _allowance(self, answer: Answer) -> Allowance:
        return Allowance(np.full(answer.values.shape, self.tolerance.atol), self.tolerance.rtol)


def _zeros_if_missing(one: np.ndarray | None, other: np.ndarray | None) -> np.ndarray | None:
    return np.zeros_like(other) if one is None and other is not None else one


def _is_convention(wrong: np.ndarray, got: Answer, want: Answer, oracle: Estimate) -> bool:
    """Return whether both tangents lie between the sides of a kink."""
    if np.iscomplexobj(got.values) or np.iscomplexobj(want.values) or np.iscomplexobj(oracle.value):
        return False
    left, right = oracle.left.ravel(), oracle.right.ravel()
    low, high = np.minimum(left, right), np.maximum(left, right)
    finite = np.where(np.isfinite(low) & np.isfinite(high), np.maximum(np.abs(low), np.abs(high)), 0.0)
    room = _KINK * float(np.max(finite, initial=0.0))
    anything = np.isneginf(low) & np.isposinf(high)
    inside = [(low - room <= one.values) & (one.values <= high + room) | anything for one in (got, want)]
    return bool(np.all((inside[0] & inside[1] & oracle.kinked.ravel())[wrong]))
