"""Points at which wrong formulas are explained, the same under every seed.

A verdict may rest on any point that a run draws. A diagnosis found there may be an accident: if all numbers are
negative, `2 * x` for `2 * abs(x)` looks like a wrong sign.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

from gradcheck.checks.branches.branch_coverage import BranchCoverage
from gradcheck.checks.points.degenerate import is_finite
from gradcheck.checks.points.drawing import EQUAL, GENERIC, Points, draw_until, with_other_literals
from gradcheck.checks.points.point import Point
from gradcheck.errors import GradcheckError
from gradcheck.facts import Fact, fact
from gradcheck.language.expr.nodes import Expr
from gradcheck.language.problem import Problem
from gradcheck.language.random_streams import stream
from gradcheck.language.sampling import draw
from gradcheck.language.trial_draws import Variation, mentions_root_gradient, needs_varied_incoming

#: The seed of all explanation points.
SEED = 0


class ExplanationPoints:
    """The explanation points of one case.

    `run` are the points of the run, at which an explanation must hold too. A `names_incoming` claim names an incoming
    gradient that the file writes out, and must hold under others.
    """

    def __init__(self, run: Points) -> None:
        self.run = run
        self._case = run.own.problem.case
        self._varies = needs_varied_incoming(self._case)

    def must_vary_incoming(self, expr: Expr) -> bool:
        """Return whether a claim must hold under other incoming gradients."""
        return self._varies and mentions_root_gradient(self._case, expr)

    def seed_independent(self, names_incoming: bool = False) -> list[Point]:
        """Return the points that no seed changes, the most informative first."""
        found = self._other_incoming_points if names_incoming else []
        found = found + [point for point in (self.generic, self.ordinary, self.large) if point is not None]
        return found + [
            p for p in self._other_branch_points if names_incoming or not p.problem.draw_settings.variation.incoming
        ]

    def points_of_run(self, names_incoming: bool = False) -> list[Point]:
        """Return the run's own point, its trials and its variants."""
        others = [p for p in self.run.variants if names_incoming or p.trial is None or p.trial.kind != "incoming"]
        return [point for point in (self.run.own, *self.run.trials, *others) if _usable(point)]

    @cached_property
    def generic(self) -> Point | None:
        """The point of distinct sizes, none of them 1, without structure."""
        return _usable(self.run.unseen_point(GENERIC, SEED, with_other_literals))

    @cached_property
    def large(self) -> Point | None:
        """The point of equal sizes above 7, with numbers from tiny to large."""

        def point(problem: Problem) -> Point | Fact:
            other = with_other_literals(problem, stream(SEED, "large", problem.draw_settings.attempt))
            return _usable(self._at(other)) or fact("not_evaluated_here")

        found = draw_until(self._case, SEED, EQUAL, point)
        return found if isinstance(found, Point) else None

    @cached_property
    def ordinary(self) -> Point | None:
        """The case's own sizes and literals, with draws of one seed."""
        if self.run.own.problem.seed == SEED:
            return _usable(self.run.own)
        try:
            return _usable(self._at(draw(self._case, SEED)))
        except GradcheckError:
            return None

    @cached_property
    def _other_branch_points(self) -> list[Point]:
        """Points on sides of comparisons that the others miss."""
        coverage = BranchCoverage(self._case)
        coverage.visit([point for point in (self.generic, self.ordinary, self.large) if point is not None])
        found: list[Point] = []
        for site, side in coverage.missing_goals():
            reached = (self._at(problem) for problem in coverage.reach(site, side))
            point = next((p for p in reached if _usable(p) and is_finite(p)), None)
            if point is not None:
                coverage.visit([point])
                found.append(point)
        return found

    @cached_property
    def _other_incoming_points(self) -> list[Point]:
        found = [self._with_other_incoming(point) for point in (self.generic, self.ordinary)]
        return [point for point in found if point is not None]

    def _with_other_incoming(self, point: Point | None) -> Point | None:
        if point is None:
            return None
        problem, by = point.problem, point.problem.draw_settings
        varied = Variation(incoming=True)
        try:
            other = draw(self._case, by.seed, by.trial, attempt=by.attempt, variation=varied, sizes=problem.sizes)
        except GradcheckError:
            return None
        return _usable(self._at(replace(problem, seeds=other.seeds)))

    def _at(self, problem: Problem) -> Point:
        return Point(problem, self.run.engines)


def _usable(point: Point | None) -> Point | None:
    """Return the point if the reference completes there."""
    return point if point is not None and point.is_complete and not point.want.states[-1].error else None
