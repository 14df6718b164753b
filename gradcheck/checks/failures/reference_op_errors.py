"""Gradients in which the reference differs only by ops that it has wrong.

The numeric oracle may be unable to decide about a graph, and able to about an op. The ops explain the difference if
the oracle confirms the engine in each, and the core with the reference's gradients of these ops reproduces the
reference.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from gradcheck.checks.claims.operations import check_operations
from gradcheck.checks.closeness.compare import nearly_equal
from gradcheck.checks.closeness.tolerance import Tolerance
from gradcheck.checks.failures.point_failures import COMPUTATION_ERRORS
from gradcheck.checks.points.point import Point
from gradcheck.checks.result import Comparison
from gradcheck.engines.base import Engine, Evaluation
from gradcheck.engines.borrowed_vjps import CoreWithBorrowedVjps
from gradcheck.engines.core import Core
from gradcheck.facts import Fact, fact
from gradcheck.language.case import StatedTolerance
from gradcheck.language.claim_kind import ClaimKind


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
        states = () if evaluation is None else evaluation.states
        return states[c.step].gradients.get(c.tensor) if c.step < len(states) else None
