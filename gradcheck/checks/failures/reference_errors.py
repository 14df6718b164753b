"""Errors of the reference that formulas repeat, or that make them fail.

The reference's rules follow one convention each and together none (`relu(x) - relu(-x)` at 0, where there is no
kink); or it is wrong at single points (`det` of a singular matrix), where another engine is confirmed. Ops that it has
wrong explain a difference if the oracle confirms the engine in each, and the core with the reference's gradients of
these ops reproduces the reference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache

import numpy as np

from gradcheck.autograd.dtypes import wide
from gradcheck.checks.claims.formulas import formula_allowance
from gradcheck.checks.claims.operations import check_operations
from gradcheck.checks.closeness.compare import nearly_equal
from gradcheck.checks.closeness.rounding import capped_allowance
from gradcheck.checks.closeness.tolerance import Tolerance, base
from gradcheck.checks.context import Context
from gradcheck.checks.failures.nearby_gradients import GraphNearbyGradients, gradients_of
from gradcheck.checks.failures.point_failures import COMPUTATION_ERRORS
from gradcheck.checks.failures.wrong_steps import claim_of
from gradcheck.checks.points.point import Point
from gradcheck.checks.result import Comparison
from gradcheck.checks.scope import Scope
from gradcheck.engines.base import Engine, Evaluation
from gradcheck.engines.borrowed_vjps import CoreWithBorrowedVjps
from gradcheck.engines.core import Core
from gradcheck.engines.double_precision import double_precision_problem
from gradcheck.errors import DomainError, GradcheckError
from gradcheck.facts import Fact, fact
from gradcheck.language.case import StatedTolerance
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.language.expr.traverse import gradient_names
from gradcheck.oracles.numeric.numeric_gradient import is_refuted, numeric_gradient

#: Gradients that differ by more than this many times the points' distance differ; and the most elements checked.
_JUMP, _MOST = 256.0, 16


def check_reference_at_kinks(context: Context, point: Point) -> None:
    """Fail claims that agree with a wrong gradient; at trials note the error."""
    steps = {c.step for c in context.found if c.trial == point.trial and _agrees_with_reference(c)}
    if any(step.inputs for step in context.case.steps) or len(steps) != 1:
        return
    wrong = dict(_wrong_gradients(point, steps.pop()))
    for place, c in enumerate(context.found):
        if c.tensor in wrong and c.trial == point.trial and _agrees_with_reference(c):
            context.found[place] = _as_repeated_error(c, wrong[c.tensor])


def fail_repeated_errors(context: Context) -> None:
    """Fail claims that agree with the reference, not the engine that is right."""
    confirmed = [c for c in context.found if c.what is ClaimKind.GRADIENT and c.passes_by_wrong_reference]
    wrong = {_gradient_key(c): c for c in confirmed if c.verdict is not None}
    for place, c in enumerate(context.found) if wrong else ():
        known = wrong.get(_gradient_key(c))
        if known is None or known.verdict is None or not _agrees_with_reference(c):
            continue
        if not _holds_for(context, c, known.engine):
            context.found[place] = _as_repeated_error(c, known.verdict["what"], everywhere=True)


def reference_error_verdict(context: Context, point: Point, c: Comparison) -> Fact | None:
    """Return the verdict on the reference if its error alone fails a formula.

    The formula then names a gradient that the reference has wrong, and holds by the engine that has it right.
    """
    claim = claim_of(context.case, c)
    if c.what is not ClaimKind.FORMULA or claim is None:
        return None
    exprs = (claim.expr, *(context.case.let[step].expr for step in context.case.let_steps_of(claim.expr)))
    named = {name for expr in exprs for name in gradient_names(expr)}
    for other in context.found:
        verdict = other.verdict
        is_wrong = other.what is ClaimKind.GRADIENT and verdict is not None and verdict.kind == "reference_wrong"
        if is_wrong and other.tensor in named and _holds_by(context, point, c, other.engine):
            return verdict
    return None


def _holds_by(context: Context, point: Point, c: Comparison, name: str) -> bool:
    """Return whether a formula of an engine's numbers gives its gradient."""
    engine = next((engine for engine in context.engines.tested if engine.name == name), None)
    states, claim = () if engine is None else point.evaluation(engine).states, claim_of(context.case, c)
    if c.step >= len(states) or claim is None:
        return False
    scope = Scope(point.problem, states[c.step])
    try:
        got, want = scope.array_of(claim.expr), scope.gradients.get(c.tensor)
    except GradcheckError:
        return False
    if want is None or got.shape != want.shape:
        return False
    return nearly_equal(got, want, Tolerance.of(c), point.conditioning.allowance(ClaimKind.GRADIENT, c.step, c.tensor))


def _holds_for(context: Context, c: Comparison, name: str) -> bool:
    """Return whether a formula gives an engine's gradient wherever defined."""
    claim = claim_of(context.case, c)
    if claim is None:
        return False
    point = context.points.at(c.trial)
    engine = next(e for e in context.engines.all if e.name == name)
    state = point.evaluation(engine).states[c.step]
    want = state.gradients.get(c.tensor)
    if want is None:
        return False
    try:
        got = Scope(point.problem, state, point.scope(c.step).host).array_of(claim.expr)
    except DomainError:
        return True
    except COMPUTATION_ERRORS:
        return False
    moves = formula_allowance(point, c.step, c.tensor, claim)
    slack = None if moves is None or moves.shape != want.shape else capped_allowance(moves, point.conditioning.limit)
    known = np.where(np.isnan(wide(got)), want, got) if got.shape == want.shape else got
    return nearly_equal(known, want, base(want.dtype), slack)


def _gradient_key(c: Comparison) -> tuple[object, ...]:
    trial = c.trial
    return c.tensor, c.step, None if trial is None else (trial.number, trial.seed, trial.attempt, trial.kind)


def _agrees_with_reference(c: Comparison) -> bool:
    return c.what is ClaimKind.FORMULA and c.status == "passed" and c.verdict is None


def _as_repeated_error(c: Comparison, what: Fact, everywhere: bool = False) -> Comparison:
    verdict = fact("repeats_reference", reference=c.reference, what=what)
    status = "failed" if c.trial is None or everywhere else "not_differentiable"
    return replace(c, status=status, verdict=verdict, certificate=None)  # type: ignore[arg-type]


def _wrong_gradients(point: Point, step: int) -> Iterator[tuple[str, Fact]]:
    """Yield the tensors whose gradient the numeric oracle refutes, and where."""
    for name, (held, odd) in _suspicious_elements(point, step).items():
        try:
            oracle = numeric_gradient(double_precision_problem(point.problem), name, step)
            estimate = oracle.partials(odd.tolist())
        except COMPUTATION_ERRORS:
            continue
        claimed = held.ravel()[odd]
        far = is_refuted(estimate, claimed, base(point.problem.dtype).allowed(np.abs(estimate.value)))
        if np.any(far):
            at = int(np.argmax(far))
            value, derivative = float(claimed[at].real), float(estimate.value[at].real)
            yield name, fact("is_not_derivative", value=value, derivative=derivative)


def _suspicious_elements(point: Point, step: int) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return elements that differ from two equal neighbours, with gradients."""
    near = GraphNearbyGradients(point, step)
    if not near.movable:
        return {}
    moves = near.moves(near.random_direction())
    sides = [near.gradients({name: part * move for name, move in moves.items()}) for part in (1.0, -1.0)]
    found = {}
    for name, held in gradients_of(point.want, step).items():
        one, other = (None if side is None else side.get(name) for side in sides)
        if one is None or other is None or not one.shape == other.shape == held.shape:
            continue
        room = _JUMP * near.distance * np.maximum(np.abs(one), np.abs(held))
        odd = np.flatnonzero((np.abs(one - other) <= room) & (np.abs(one - held) > room))[:_MOST]
        if odd.size:
            found[name] = held, odd
    return found


class ReferenceOpErrors:
    """The ops that the reference has wrong at one point, for each engine."""

    def __init__(
        self, point: Point, run: StatedTolerance | None, with_verdict: Callable[[Comparison], Comparison]
    ) -> None:
        self._point, self._run, self._with_verdict = point, run, with_verdict
        self._found: dict[str, list[Comparison]] = {}
        self._evaluated = cache(self._evaluate)

    def verdict(self, c: Comparison, slack: np.ndarray | None) -> Fact | None:
        """Return that the reference is wrong if these ops explain it."""
        engine = next((e for e in self._point.engines.tested if e.name == c.engine), None)
        if engine is None or c.what is not ClaimKind.GRADIENT or c.reference != self._point.engines.reference.name:
            return None
        if engine.name not in self._found:
            self._found[engine.name] = self._find_wrong_ops(engine)
        found = self._found[engine.name]
        if not found or not all(one.passes_by_wrong_reference for one in found):
            return None
        ops = frozenset(one.operation.application.op.name for one in found if one.operation is not None)
        by_reference, by_core = (self._gradient(c, self._evaluated(names)) for names in (ops, frozenset[str]()))
        pairs = ((by_reference, c.want_array), (by_core, c.got_array))
        if any(
            one is None or other is None or not nearly_equal(one, other, Tolerance.of(c), slack) for one, other in pairs
        ):
            return None
        what = fact("by_ops_alone", ops=tuple(sorted(ops)), what=found[0].verdict and found[0].verdict["what"])
        return fact("reference_wrong", reference=c.reference, what=what)

    def _find_wrong_ops(self, engine: Engine) -> list[Comparison]:
        found = check_operations(self._point, [engine], self._run)
        return [self._with_verdict(c) for c in found if c.status != "passed"]

    def _evaluate(self, ops: frozenset[str]) -> Evaluation | None:
        core = CoreWithBorrowedVjps(self._point.engines.reference, ops) if ops else Core()
        try:
            return core.evaluate(self._point.problem)
        except COMPUTATION_ERRORS:
            return None

    def _gradient(self, c: Comparison, evaluation: Evaluation | None) -> np.ndarray | None:
        return None if evaluation is None else evaluation.state(c.step).gradients.get(c.tensor)
