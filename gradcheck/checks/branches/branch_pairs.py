"""Pairs of comparisons: sides of two on which no element is, and numbers.

A mistake for `x > 3` and `w < -3` together shows on neither side alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import combinations, islice

import numpy as np

from gradcheck.checks.branches.branch_search import BranchSearch
from gradcheck.checks.branches.branch_sites import BranchSite, Goal, Margin, SearchBudget, are_goals_met
from gradcheck.checks.branches.margin_recording import final_gradients, has_rounding_op, margins_at
from gradcheck.checks.branches.search_variables import scaled_incoming
from gradcheck.checks.points.point import Point
from gradcheck.errors import GradcheckError
from gradcheck.language.problem import Problem

#: The most pairs of sides, and comparisons; claims' own come first.
_MOST, _SITES = 24, 12
#: The fewest different numbers that show a line.
_FEWEST = 3
Margins = Mapping[BranchSite, Margin]


def unvisited_pairs(points: Sequence[Point], owners: Collection[str], claims: Collection[str]) -> Iterator[Problem]:
    """Yield numbers on pairs of sides that no point visits, one of a claim."""
    places = [(point, found) for point, found in ((point, _margins(point, owners)) for point in points) if found]
    seen = [found for _, found in places]
    if not seen:
        return
    common = (site for site in seen[0] if all(site in found for found in seen))
    sites = sorted(common, key=lambda site: not seen[0][site].is_stated)[:_SITES]
    budget = SearchBudget(100_000)  # for one formula
    searches = [BranchSearch(point.problem, final_gradients(point), budget) for point in points[:2]]
    tried = 0
    for one, other in combinations(sites, 2):
        if one.owner not in claims and other.owner not in claims:
            continue
        for pair in _missing_pairs(seen, one, other):
            tried += 1
            if tried > _MOST:
                return
            found = [problem for search in searches if (problem := search.find(*pair)) is not None]
            if not found and all(seen[0][site].is_stated for site, _ in pair):
                found = [*_search_one_by_one(searches[0], points[0], pair)]
            if not found and any(has_rounding_op(points[0].problem.case, site) for site, _ in pair):
                found = [problem for problem in (searches[0].find_on_paths(*pair),) if problem is not None]
            yield from found or _with_opposite_incoming(places, pair)


def _search_one_by_one(search: BranchSearch, point: Point, pair: tuple[Goal, Goal]) -> Iterator[Problem]:
    """Search both goals from where one is met.

    From elsewhere they may oppose each other, as `abs(x) > 20` and `x < 0`.
    """
    for goal in pair:
        start = search.find(goal)
        found = None if start is None else BranchSearch(start, final_gradients(point)).find(*pair)
        if found is not None:
            yield found
            return


def _with_opposite_incoming(places: Sequence[tuple[Point, Margins]], pair: tuple[Goal, Goal]) -> Iterator[Problem]:
    """Yield a point on one side under opposite cotangents."""
    for site, side in pair:
        on = (point.problem for point, found in places if site.is_on(found[site].numbers, side))
        yield from (problem for first in islice(on, 1) for problem in scaled_incoming(first, (-1.0,)))


def _margins(point: Point, owners: Collection[str]) -> Margins:
    try:
        return margins_at(point.problem, final_gradients(point), owners)
    except GradcheckError:
        return {}


def _missing_pairs(seen: Sequence[Margins], one: BranchSite, other: BranchSite) -> Iterator[tuple[Goal, Goal]]:
    """Yield the pairs of sides that no point is on, and that are possible."""
    shift = _linear_relation([found[one].numbers for found in seen], [found[other].numbers for found in seen])
    for side in one.sides:
        for another in other.sides:
            pair = ((one, side), (other, another))
            met = any(are_goals_met(pair, (found[one], found[other])) for found in seen)
            if not met and (shift is None or _is_compatible(pair, *shift)):
                yield pair


def _linear_relation(left: Sequence[np.ndarray], right: Sequence[np.ndarray]) -> tuple[int, float] | None:
    """Return the sign of the slope, and the shift, of one margin by another.

    None if the margins lie on no line, on a flat one, or are too few: two numbers always lie on one."""
    if any(a.shape != b.shape for a, b in zip(left, right, strict=True)):
        return None
    a, b = (np.concatenate([np.ravel(one) for one in listed]) for listed in (left, right))
    if np.unique(a).size < _FEWEST or not np.isfinite([a, b]).all():
        return None
    first, last = int(np.argmin(a)), int(np.argmax(a))
    slope = (b[last] - b[first]) / (a[last] - a[first])
    rest = b - slope * a
    is_line = slope != 0 and np.ptp(rest) <= 1e-9 * max(1.0, float(np.abs(b).max()))
    return (int(np.sign(slope)), float(rest[0])) if is_line else None


def _is_compatible(pair: tuple[Goal, Goal], sign: int, shift: float) -> bool:
    """Return whether both sides are possible under such a relation."""
    (one, side), (other, another) = pair
    wanted, then = one.sign_of(side), sign * other.sign_of(another)
    if 0 in (wanted, then) or abs(shift) < 1e-12:
        return wanted == then and abs(shift) < 1e-12
    return wanted == then or np.sign(sign * shift) == then
