"""Branch coverage: which sides of which comparisons some point of a case is on, and numbers for the others."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from gradcheck.checks.branches.branch_search import BranchSearch
from gradcheck.checks.branches.branch_sites import EQUALITY_OPS, BranchSite, Margin
from gradcheck.checks.branches.margin_recording import (
    branching_owners,
    has_no_slope,
    margins_at,
    sides_met,
    touches_kink,
)
from gradcheck.checks.branches.observability import observable_sides
from gradcheck.checks.points.admissible import is_informative
from gradcheck.checks.points.point import Point
from gradcheck.errors import GradcheckError
from gradcheck.language.case import Case
from gradcheck.language.problem import Problem

#: Comparisons beyond these are not searched for their other sides; searches begin at so many points.
_MOST_SITES, _STARTS = 64, 3
#: What may treat numbers that tie as equal, each by itself.
_TYING = EQUALITY_OPS | {"ge", "le"}
#: What comes out otherwise where neither is larger.
_EDGED = frozenset(("gt", "ge", "lt", "le", "sign", "sgn"))


class BranchCoverage:
    """The sides that were visited, growing with each point."""

    def __init__(self, case: Case, settled: Collection[str] = ()) -> None:
        """`settled` are formulas and steps that hold on all sides of their comparisons, but not where two numbers are
        equal: of these, proofs know nothing."""
        self._owners, self._case, self._graph, self._decided = branching_owners(case), case, case.graph, settled
        self.kink_points: list[Point] = []
        self._visited: dict[BranchSite, set[int]] = {}
        self._guards: dict[BranchSite, bool] = {}  # whether a comparison only guards against a division by 0
        self._observed: dict[BranchSite, set[int]] = {}  # of what claims state: the sides that have shown
        self._points: list[Point] = []

    def visit(self, points: Sequence[Point], goal: tuple[BranchSite, int] | None = None) -> bool:
        """Note on which sides these are; whether the last of them tells right from wrong there, on the side for which
        it was looked for: where others compute the graph, numbers need not be equal that are by the core.

        One that does not, for its gradients are 0, counts only for the side for which it was looked for, of whatever
        compares the same.
        """
        if not self._owners:
            return True
        telling = is_there = True
        for point in points:
            try:
                margins = self._margins(point)
            except GradcheckError:  # the reference may take what the core does not
                continue
            self._points.append(point)
            telling = self._has_usual_sizes(point) and is_informative(point) and not point.may_be_off_by_rounding
            is_there = goal is None or goal[0] not in margins or goal[0].is_on(margins[goal[0]].numbers, goal[1])
            if touches_kink(margins, self._graph):
                self.kink_points.append(point)
            if telling:
                self._note_observed(point)
            self._learn_guards(margins)
            for site, signs in sides_met(margins).items():
                if self._guards.get(site):
                    continue
                found = self._visited.setdefault(site, set())
                if telling:
                    found |= signs
                elif (
                    goal is not None and goal[0] in margins and (self._has_usual_sizes(point) or is_informative(point))
                ):
                    found |= signs & _same_side(margins[goal[0]], margins[site], goal[1])
        is_shown = goal is None or not self.is_unobserved(*goal) or not self.is_visited(*goal)
        return telling and is_there and is_shown

    def _learn_guards(self, margins: Mapping[BranchSite, Margin]) -> None:
        """By the first point at which that can be told: not where what is guarded is 0, or everything is tiny."""
        for site, margin in margins.items():
            if site not in self._guards and np.all(margin.scale > 0):
                self._guards[site] = margin.is_guard
                if margin.is_guard:
                    self._visited.pop(site, None)

    def _note_observed(self, point: Point) -> None:
        claims = self._owners - {*self._graph, *self._decided}
        if claims and point.is_complete:
            for site, shown in observable_sides(
                point.problem, _gradients(point), claims, point.scope(point.last_step)
            ).items():
                self._observed.setdefault(site, set()).update(shown)

    def is_visited(self, site: BranchSite, side: int) -> bool:
        """Whether some point is on this side, whatever it shows there; of an edge nobody asks."""
        return side in self._visited.get(site, {side}) or (side == 0 and site.op not in EQUALITY_OPS)

    def is_unobserved(self, site: BranchSite, side: int) -> bool:
        """Whether this side has never shown, where another has: what was compared there did not matter."""
        shown = self._observed.get(site, ())
        return bool(shown) and abs(side) < 2 and side in site.sides and side not in shown

    def _unobserved_goals(self) -> list[tuple[BranchSite, int]]:
        return [(site, side) for site in self._observed for side in site.sides if self.is_unobserved(site, side)]

    def _edge_goals(self) -> list[tuple[BranchSite, int]]:
        """Where what claims state to be above or below something is neither, and the graph has no kink there."""
        claims = self._owners - {*self._graph, *self._decided}
        listed = [s for s in self._visited if s.owner in claims and s.op in _EDGED and not s.compares_integers]
        at = [self._margins(point) for point in self._points[:2]] if listed else []
        return [(site, 0) for site in listed if not any(self._is_kink(site, found) for found in at)]

    def _is_kink(self, site: BranchSite, found: Mapping[BranchSite, Margin]) -> bool:
        others = [margin for other, margin in found.items() if other.owner in self._graph]
        return site not in found or any(_same_side(found[site], margin, 1) for margin in others)

    def _has_usual_sizes(self, point: Point) -> bool:
        """Whether no size is 1 that need not be: there much is equal that is not elsewhere."""
        own = self._points[0].problem.sizes
        return all(size != 1 or own[word] == 1 for word, size in point.problem.sizes.items())

    @property
    def has_undecided_claims(self) -> bool:
        """Whether some claim compares anything that is not settled."""
        return not {*self._graph, *self._decided} >= self._owners

    @property
    def asks_for_equality(self) -> bool:
        """Whether some claim that is not settled asks whether numbers are equal, or not below others: not `x == x`."""
        return any(
            s.op in _TYING and s.owner not in self._graph and s.owner not in self._decided and found - {0}
            for s, found in self._visited.items()
        )

    def sides_at(self, point: Point) -> dict[BranchSite, set[int]]:
        """On which sides of each comparison some element of a point is, however far."""
        return sides_met(self._margins(point), near=False)

    def _margins(self, point: Point) -> Mapping[BranchSite, Margin]:
        scope = point.scope(point.last_step) if point.is_complete else None
        return margins_at(point.problem, _gradients(point), self._owners, scope)

    def missing_goals(self) -> Iterator[tuple[BranchSite, int]]:
        """Each side that no point is on, asked for anew after each; those of all elements together last. Then those on
        which nothing has shown, and edges."""
        for site in list(self._visited)[:_MOST_SITES]:
            if site.owner in self._decided and (
                site.op not in EQUALITY_OPS or site.compares_integers or site.owner in self._graph
            ):
                continue
            for side in sorted(site.sides, key=abs):
                if side not in self._visited.get(site, {side}):
                    yield site, side
        for goal in self._unobserved_goals()[:_MOST_SITES]:
            if self.is_unobserved(*goal):  # still
                yield goal
        yield from (
            goal for goal in self._edge_goals()[:_MOST_SITES] if goal[1] not in self._visited.get(goal[0], goal)
        )

    def reach(self, site: BranchSite, side: int) -> Iterator[Problem]:
        """Problems with numbers on this side, from several points; where none of them tells, with half of the numbers
        as they were."""
        is_reached = False
        if self.is_unobserved(site, side) and site.op not in EQUALITY_OPS:  # all elements, of which some may matter
            found = (search.find((site, 2 * side)) for search in self._searches[:2])
            yield from (problem for problem in found if problem is not None)
        for number, search in enumerate(self._searches):
            problem = search.find((site, side))
            if problem is not None:
                is_reached = True
                yield problem
            elif number and not is_reached:  # from two points in vain
                break
        if not is_reached and has_no_slope(self._case, site):
            problem = self._searches[0].find_on_paths((site, side))
            if problem is not None:
                yield problem
        for half in (1, 2) if is_reached else ():
            problem = self._searches[0].find((site, side), half=half)
            if problem is not None:
                yield problem

    def reach_from(self, point: Point, site: BranchSite, side: int) -> Iterator[Problem]:
        """The same from one more point."""
        search = BranchSearch(point.problem, _gradients(point))
        found = (search.find((site, one)) for one in (2 * side, side))
        yield from (problem for problem in found if problem is not None)

    @cached_property
    def _searches(self) -> list[BranchSearch]:
        usual = sorted(
            (point for point in self._points if self._has_usual_sizes(point)),
            key=lambda point: has_underflowing_squares(point.problem),
        )
        others = [point for point in self._points if not self._has_usual_sizes(point)]
        return [BranchSearch(p.problem, _gradients(p)) for p in (*usual[:_STARTS], *others[:1])]


def _same_side(one: Margin, other: Margin, side: int) -> set[int]:
    """The side of a margin that another is on with it, if it is the same number everywhere, or its opposite."""
    a, b = one.numbers, other.numbers
    signs = [sign for sign in (1, -1) if a.shape == b.shape and np.array_equal(a, sign * b)]
    return {sign * side for sign in signs} | ({side} if one is other else set())


def has_underflowing_squares(problem: Problem) -> bool:
    """Whether inputs are so small that their squares are 0: what is equal then only looks so."""
    floats = [array for array in problem.inputs.values() if array.dtype.kind in "fc"]
    return any(bool(((array != 0) & (np.abs(array) < _root_of_least(array.dtype))).any()) for array in floats)


def _root_of_least(dtype: np.dtype[Any]) -> float:
    return math.sqrt(np.finfo(dtype).smallest_subnormal)


def _gradients(point: Point) -> Mapping[str, np.ndarray]:
    return point.scope(point.last_step).gradients if point.is_complete else {}
