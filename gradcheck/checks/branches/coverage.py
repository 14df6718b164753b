"""Branch coverage: which sides of which comparisons some point of a case is on, and numbers for the others."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np

from gradcheck.checks.branches.search import BranchSearch
from gradcheck.checks.branches.sites import Site, branching, margins_at, sides, touches
from gradcheck.checks.points import Point, is_telling
from gradcheck.language.case import Case
from gradcheck.language.problem import Problem

#: Comparisons beyond these are not searched for their other sides; searches begin at so many points.
_MOST_SITES, _STARTS = 64, 3


class BranchCoverage:
    """The sides that were visited, growing with each point."""

    def __init__(self, case: Case, claims: Collection[str] | None = None) -> None:
        """`claims` names the formulas and steps that are looked at, if not all."""
        self._owners, self._graph = branching(case), case.graph
        if claims is not None:
            self._owners = self._owners & {*case.graph, *claims}
        self.at_kinks: list[Point] = []
        self._visited: dict[Site, set[int]] = {}
        self._points: list[Point] = []

    def visit(self, points: Sequence[Point]) -> bool:
        """Note on which sides these are; whether the last of them tells right from wrong there.

        One that does not, for its gradients are 0, counts only if it was looked for.
        """
        if not self._owners:
            return True
        self._points += points
        telling = True
        for point in points:
            margins = margins_at(point.problem, _gradients(point), self._owners)
            telling = self._is_usual(point) and is_telling(point)
            was_looked_for = point.trial is not None and point.trial.kind == "branch"
            if touches(margins, self._graph):
                self.at_kinks.append(point)
            for site, signs in sides(margins).items():
                counted = telling or (was_looked_for and (self._is_usual(point) or is_telling(point)))
                self._visited.setdefault(site, set()).update(signs if counted else ())
        return telling

    def _is_usual(self, point: Point) -> bool:
        """Whether no size is 1 that need not be: there much is equal that is not elsewhere."""
        own = self._points[0].problem.sizes
        return all(size != 1 or own[word] == 1 for word, size in point.problem.sizes.items())

    def missing(self) -> Iterator[tuple[Site, int]]:
        """Each side that no point is on, asked for anew after each."""
        for site in list(self._visited)[:_MOST_SITES]:
            for side in site.sides:
                if side not in self._visited[site]:
                    yield site, side

    def reach(self, site: Site, side: int) -> Iterator[Problem]:
        """Problems with numbers on this side, from several points."""
        found = (search.find((site, side)) for search in self._searches)
        return (problem for problem in found if problem is not None)

    @cached_property
    def _searches(self) -> list[BranchSearch]:
        usual = [point for point in self._points if self._is_usual(point)]
        others = [point for point in self._points if not self._is_usual(point)]
        return [BranchSearch(p.problem, _gradients(p)) for p in (*usual[:_STARTS], *others[:1])]


def _gradients(point: Point) -> Mapping[str, np.ndarray]:
    return point.scope(point.last).gradients if point.is_complete else {}
