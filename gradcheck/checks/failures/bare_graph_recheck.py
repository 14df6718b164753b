"""Second check of an adapted class on the bare graph, before it is blamed.

An adapted engine is used for more than a user's few lines would. So a wrong gradient is computed again with the
leaves alone (`evaluate_bare`), several times, because some classes vary by chance. A gradient that is right each
time is unsupported, not failed. So is an op that the class composes of other ops, if each of these is right.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from gradcheck.checks.claims.cotangents import with_ones
from gradcheck.checks.claims.operations import wrong_with_cotangents
from gradcheck.checks.closeness.compare import compare
from gradcheck.checks.closeness.tolerance import engine_tolerance
from gradcheck.checks.context import Context
from gradcheck.checks.failures.composed_ops import wrong_parts
from gradcheck.checks.failures.point_failures import COMPUTATION_ERRORS, PointFailures
from gradcheck.checks.failures.traversal_probe import is_right_on_small_graph
from gradcheck.checks.points.point import Point
from gradcheck.checks.result import Comparison, Operation, WrongOperation
from gradcheck.engines.base import AdaptedEngine, Engine, Evaluation, State
from gradcheck.facts import Fact, fact
from gradcheck.language.claim_kind import ClaimKind

#: How often an engine is run again: one that is wrong by chance shows it in one of these.
_REPEATS = 4
_GRADIENTS = (ClaimKind.GRADIENT, ClaimKind.EXPECTED)


def mark_unreproduced(context: Context) -> None:
    """Mark failures unsupported that the bare graph does not reproduce."""
    for engine in context.engines.tested:
        if isinstance(engine, AdaptedEngine) and any(_is_of(c, engine) for c in context.found):
            _recheck_engine(context, engine)


def reproduced_failures(context: Context, point: Point, found: Iterable[Comparison]) -> list[Comparison]:
    """Return the ops wrong alone at a point that are the engine's own fault."""
    adapted = (engine for engine in context.engines.tested if isinstance(engine, AdaptedEngine))
    known = {engine.name: _BareGraphRecheck(context, point, engine) for engine in adapted}
    rechecked = (known[c.engine].rechecked(c) if c.engine in known and c.status == "failed" else c for c in found)
    return [c for c in rechecked if c.status == "failed"]


def _is_of(c: Comparison, engine: Engine) -> bool:
    return c.status == "failed" and c.engine == engine.name


def _recheck_engine(context: Context, engine: AdaptedEngine) -> None:
    points: dict[int, _BareGraphRecheck] = {}
    for place, c in enumerate(context.found):
        if not _is_of(c, engine) or c.what not in (*_GRADIENTS, ClaimKind.NODE):
            continue
        try:
            point = context.points.at(c.trial)
        except LookupError:  # the point was not kept
            continue
        repeated = points.setdefault(id(point), _BareGraphRecheck(context, point, engine))
        context.found[place] = repeated.rechecked(c)


def _as_unsupported(c: Comparison, why: Fact) -> Comparison:
    return replace(c, status="unsupported", mismatch=why)


@dataclass(slots=True)
class _BareGraphRecheck:
    context: Context
    point: Point
    engine: AdaptedEngine
    again: list[Evaluation] = field(default_factory=list)
    composed: dict[int, bool] = field(default_factory=dict)  # by an op's number: whether its parts are right
    _behind: set[str] | None = None

    def rechecked(self, c: Comparison) -> Comparison:
        """Return a failure unchanged if it is the engine's own, else unsupported."""
        try:
            if c.what is ClaimKind.NODE:
                return c if c.operation is None else self._of_operation(c, c.operation)
            excuse = fact("made_of_others") if c.tensor in self._behind_composed() else self._of_gradient(c)
        except COMPUTATION_ERRORS:
            return c
        return c if excuse is None else _as_unsupported(c, excuse)

    def _of_gradient(self, c: Comparison) -> Fact | None:
        for evaluation in self._evaluations():
            if evaluation.error is not None and evaluation.error.kind == "unsupported":
                return fact("said", text=evaluation.error.message)
            if c.step >= len(evaluation.states) or self._is_wrong(c.tensor, c.step, evaluation.states[c.step]):
                return None
        return None if self._is_by_chance(c) else fact("right_on_the_bare_graph")

    def _is_by_chance(self, c: Comparison) -> bool:
        again = self.engine.evaluate(self.point.problem)
        return c.step < len(again.states) and not self._is_wrong(c.tensor, c.step, again.states[c.step])

    def _evaluations(self) -> Iterator[Evaluation]:
        for number in range(_REPEATS):
            if number == len(self.again):
                self.again.append(self.engine.evaluate_bare(self.point.problem))
            yield self.again[number]

    def _is_wrong(self, tensor: str, step: int, state: State) -> bool:
        """Return whether a gradient is wrong; an unread one, if any input's is."""
        case, want = self.point.problem.case, self.point.want.states[step].gradients
        names: Collection[str] = [tensor] if tensor not in state.unread else list(case.inputs)
        return any(self._differs(state.gradients.get(name), want.get(name)) for name in names)

    def _differs(self, got: np.ndarray | None, want: np.ndarray | None) -> bool:
        dtype = want.dtype if want is not None else np.dtype(np.float64)
        tolerance = engine_tolerance(dtype, self.point.problem.case.engine_tolerance, self.context.options.tolerance)
        subject = next(iter(self.context.found)).subject
        return compare(got, want, tolerance, subject).status == "failed"

    def _of_operation(self, c: Comparison, one: WrongOperation) -> Comparison:
        if not (
            (one.mine.error is None or not self._can_pull_back(one, np.ones_like)) and self._can_receive(one.operation)
        ):
            ones = with_ones(one.operation)
            if not self._can_receive(ones):
                return _as_unsupported(c, fact("incoming_cannot_be_given"))
            again = self._with_cotangents(ones, one)
            if again is None:
                return c.subject.passed()
            c = again
        return _as_unsupported(c, fact("made_of_others")) if self._is_composed(one) else c

    def _with_cotangents(self, operation: Operation, one: WrongOperation) -> Comparison | None:
        """Return the op's failure with other cotangents, None if it passes."""
        found = wrong_with_cotangents(self.point, self.engine, [operation], self.context.options.tolerance)
        same = (c for c in found if c.operation is not None and c.operation.index == one.index)
        again = next(same, None)
        known = None if again is None else again.operation
        return None if again is None or known is None else replace(again, operation=replace(known, number=one.number))

    def _can_receive(self, operation: Operation) -> bool:
        """Return whether leaves of the results' shapes receive these cotangents."""
        given = [
            (np.ones(shape, dtype), cotangent)
            for output, cotangent in zip(operation.application.outputs, operation.cotangents, strict=True)
            if output is not None and cotangent is not None
            for shape, dtype in (output,)
        ]
        return self.engine.accepts_seeds([root for root, _ in given], [seed for _, seed in given])

    def _can_pull_back(self, one: WrongOperation, incoming: Callable[[np.ndarray], np.ndarray]) -> bool:
        """Return whether the op alone raises nothing for another cotangent."""
        given = [None if cotangent is None else incoming(cotangent) for cotangent in one.operation.cotangents]
        (found,) = self.engine.pull_back([one.application], [given], self.point.problem.dtype)
        return found.error is None

    def _is_composed(self, one: WrongOperation) -> bool:
        if one.number not in self.composed:
            called, wrong = wrong_parts(PointFailures(self.context, self.point), self.engine, one)
            is_made = bool(called) or not self.engine.has_rule(one.application.op)
            self.composed[one.number] = is_made and not wrong
        return self.composed[one.number]

    def _behind_composed(self) -> set[str]:
        """Return the tensors behind wrong ops that are composed of right ones.

        Empty if any other op is wrong. Ops are compared at the case's own numbers only, so these stand for other
        points.
        """
        if self._behind is None:
            alone = [c for c in self.context.found if c.what is ClaimKind.NODE and c.engine == self.engine.name]
            here = [c for c in alone if c.trial == self.point.trial] or alone
            wrong = [c.operation for c in here if c.operation is not None]
            owners = {one.application.owner for one in wrong if self._is_composed(one)}
            flow = PointFailures(self.context, self.point).flow(0)
            all_composed = bool(wrong) and all(self._is_composed(one) for one in wrong)
            if all_composed and not is_right_on_small_graph(self.engine):
                all_composed = False  # the pass itself is wrong
            self._behind = flow.behind(*owners) if all_composed else set()
        return self._behind
