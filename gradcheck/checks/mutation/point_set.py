"""The points at which the mutants of one case are looked at: those of a run, and others that tell whether a mutation
changes anything at all."""

from __future__ import annotations

from functools import cached_property

from gradcheck.checks.context import Context
from gradcheck.checks.options import Engines, Options
from gradcheck.checks.points import Point, unusable
from gradcheck.language.case import Case, StatedTolerance
from gradcheck.language.trials import trials

#: At how many unseen points an equivalent mutation must leave everything as it is.
_UNSEEN = 3


class PointSet:
    """The case's own numbers, its trials, and points at which no run looks; each drawn when first asked for."""

    def __init__(self, case: Case, options: Options, engines: Engines) -> None:
        """Raises InvalidCase where the case's own numbers cannot be drawn."""
        self._context = Context.of(case, options, engines)
        self.own: Point = self._context.points.own

    @property
    def case(self) -> Case:
        """The case, in the run's dtype."""
        return self._context.case

    @property
    def tolerance(self) -> StatedTolerance | None:
        """The run's, if it has one."""
        return self._context.options.tolerance

    @cached_property
    def trials(self) -> list[Point]:
        """The trials of a run."""
        numbers = trials(self.case, self._context.options.trials)
        drawn = [self._context.points.trial(number, unusable) for number in numbers]
        return [point for point in drawn if isinstance(point, Point)]

    @cached_property
    def unseen(self) -> list[Point]:
        """Points at which no run looks."""
        drawn = [self._context.points.unseen(number) for number in range(_UNSEEN)]
        return [point for point in drawn if point is not None]
