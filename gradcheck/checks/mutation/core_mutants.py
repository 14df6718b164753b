"""Mutants of the core, judged as a run judges an engine; those that are equivalent to the core are told apart."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gradcheck.autograd.dtypes import largest_finite, wide
from gradcheck.checks.claims.engines import check_engine
from gradcheck.checks.claims.operations import check_operations
from gradcheck.checks.closeness.tolerance import Tolerance
from gradcheck.checks.mutation.core_mutation import Mutation
from gradcheck.checks.mutation.mutant_core import CoverageCore, MutantCore
from gradcheck.checks.mutation.point_set import PointSet
from gradcheck.checks.mutation.rule_mutations import rule_mutations
from gradcheck.checks.mutation.sweep_mutations import PASSES_OVERWRITTEN, sweep_mutations
from gradcheck.checks.points import Point
from gradcheck.checks.power import Mutant
from gradcheck.checks.result import UNSETTLED

#: What NumPy raises when a mutation has made shapes that do not go together: a crash, which a run reports as well.
CRASHES = (ValueError, TypeError, ArithmeticError, LookupError)
#: Gradients that differ by less are the same.
_LAST_DIGITS = Tolerance(0.0, 1e-14)


def core_mutants(points: PointSet, right: CoverageCore) -> Iterator[Mutant | None]:
    """Every mutation of the rules and of the sweep that the case makes use of; None for one that changes nothing.

    `right` has evaluated the case's own numbers.
    """
    for mutation in _mutations(points, right):
        caught_by = evidence(points, mutation)
        if caught_by or changes_something(points, mutation, right):
            yield Mutant(mutation.kind, mutation.where, caught_by)
        else:
            yield None


def _mutations(points: PointSet, coverage: CoverageCore) -> list[Mutation]:
    found = [*rule_mutations(list(coverage.applied)), *sweep_mutations(list(coverage.reused))]
    passes = sum(step.action == "backward" for step in points.case.steps)
    return [*found, PASSES_OVERWRITTEN] if passes > 1 else found


def evidence(points: PointSet, mutation: Mutation) -> str:
    """What shows the mutation: a gradient, an op's rule alone, a trial at other numbers; empty where nothing does."""
    engine = MutantCore(mutation)
    if _differs(points, points.own, engine):
        return "gradient"
    if mutation.op is not None and _node_differs(points, engine):
        return "node"
    return "trial" if any(_differs(points, point, engine) for point in points.trials) else ""


def _differs(points: PointSet, point: Point, engine: MutantCore) -> bool:
    """Whether a run would say that this engine is wrong here."""
    try:
        got = engine.evaluate(point.problem)
    except CRASHES:
        return True
    return any(c.status in UNSETTLED for c in check_engine(point, got, points.tolerance))


def _node_differs(points: PointSet, engine: MutantCore) -> bool:
    """Whether the check of each op alone would say that this engine's rule is wrong."""
    try:
        return any(c.status in UNSETTLED for c in check_operations(points.own, [engine], points.tolerance))
    except CRASHES:
        return True


def changes_something(points: PointSet, mutation: Mutation, right: CoverageCore) -> bool:
    """Whether the gradients are others than the core's, at the case's own numbers or at unseen points."""
    engine = MutantCore(mutation)
    return any(not same_gradients(point, engine, right) for point in (points.own, *points.unseen))


def same_gradients(point: Point, engine: MutantCore, right: CoverageCore) -> bool:
    """Whether both raise the same, or leave the same, up to the last digits."""
    try:
        got = engine.evaluate(point.problem)
    except CRASHES:
        return False
    want = point.evaluation(right)
    if len(got.states) != len(want.states):
        return False
    for mine, theirs in zip(got.states, want.states, strict=True):
        if bool(mine.error) != bool(theirs.error):
            return False
        if not all(_is_same(mine.gradients.get(name), gradient) for name, gradient in theirs.gradients.items()):
            return False
    return True


def _is_same(got: np.ndarray | None, want: np.ndarray | None) -> bool:
    if got is None or want is None:
        return got is want
    if got.shape != want.shape or got.dtype != want.dtype:
        return False
    first, second = wide(got), wide(want)
    allowed = _LAST_DIGITS.allowed(np.abs(second), largest_finite(second))
    same = (got == want) | (np.isnan(first) & np.isnan(second)) | (np.abs(first - second) <= allowed)
    return bool(same.all())
