"""Branch coverage: sides that points visit, and points for other sides.

A side is named as `x > 6`, if the margin `a - b` differs from a named tensor by one number at every point. So
comparisons within the rule of `clamp` are named like those in a formula.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import product
from typing import Any

import numpy as np

from gradcheck.autograd.modes import no_grad, quiet
from gradcheck.checks.branches.branch_search import BranchSearch
from gradcheck.checks.branches.branch_sites import (
    EQUALITY_OPS,
    BranchSite,
    Margin,
    SearchBudget,
    as_array,
    named_claims,
)
from gradcheck.checks.branches.margin_recording import (
    EDGES,
    MarginLog,
    WrappedNames,
    branching_owners,
    final_gradients,
    has_no_slope,
    log_margins_at,
    margins_at,
    sides_met,
    unwrap,
)
from gradcheck.checks.points.point import Point, is_informative
from gradcheck.errors import GradcheckError
from gradcheck.language.case import Case, Claim
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.expr.nodes import Call
from gradcheck.language.expr.printer import to_text
from gradcheck.language.problem import Problem

#: The points from which each search starts.
_STARTS = 3
#: Ops whose outcome at ties may differ from both sides.
_TYING = EQUALITY_OPS | {"ge", "le"}
#: Ops with another outcome at equality.
_EDGED = frozenset(("gt", "ge", "lt", "le", "sign", "sgn"))


class BranchCoverage:
    """The visited sides, which grow with each point."""

    def __init__(self, case: Case, settled: Collection[str] = (), budget: SearchBudget | None = None) -> None:
        """Take formulas and steps that proofs have `settled`, but for ties."""
        self.budget = budget or SearchBudget()
        self._owners, self._case, self._graph, self._decided = branching_owners(case), case, case.graph, settled
        self._claims = self._owners - {*self._graph, *settled}
        self._ops = {name: sum(1 for _ in claim.expr.walk()) for name, claim in named_claims(case)}
        self.kink_points: list[Point] = []
        self._visited: dict[BranchSite, set[int]] = {}
        self._outside: set[tuple[BranchSite, int]] = set()  # sides with an element at which gradients are NaN
        self._guards: dict[BranchSite, bool] = {}  # whether a comparison only guards a division
        self._observed: dict[BranchSite, set[int]] = {}  # of claims' comparisons: the sides that mattered
        self._points: list[Point] = []

    def visit(self, points: Sequence[Point], goal: tuple[BranchSite, int] | None = None) -> bool:
        """Note the sides of points; return if the last is informative on its goal.

        A point whose gradients are 0 is not. It counts for its goal's side only. The reference may round numbers
        apart that are equal in the core, so the goal is checked.
        """
        if not self._owners:
            return True
        is_telling = is_there = True
        for point in points:
            try:
                margins = self._margins(point)
            except GradcheckError:  # only the reference can compute it
                continue
            self._points.append(point)
            is_telling = self._has_usual_sizes(point) and is_informative(point) and not point.may_be_off_by_rounding
            is_there = goal is None or goal[0] not in margins or goal[0].is_on(margins[goal[0]].numbers, goal[1])
            if any(site.owner in self._graph and np.any(m.numbers == 0) for site, m in margins.items()):
                self.kink_points.append(point)
            if is_telling:
                self._note_observed(point)
            self._learn_guards(margins)
            for site, signs in sides_met(margins).items():
                if self._guards.get(site):
                    continue
                found = self._visited.setdefault(site, set())
                if is_telling:
                    found |= signs
                elif (
                    goal is not None and goal[0] in margins and (self._has_usual_sizes(point) or is_informative(point))
                ):
                    found |= signs & _same_side(margins[goal[0]], margins[site], goal[1])
        is_shown = goal is None or not self.is_unobserved(*goal) or not self.is_visited(*goal)
        return is_telling and is_there and is_shown

    def _learn_guards(self, margins: Mapping[BranchSite, Margin]) -> None:
        """Learn guards at the first point that decides: not for 0 or tiny numbers."""
        for site, margin in margins.items():
            if site not in self._guards and np.all(margin.scale > 0):
                self._guards[site] = margin.is_guard
                if margin.is_guard:
                    self._visited.pop(site, None)

    def _note_observed(self, point: Point) -> None:
        flips = ((len({*site.sides} - seen), self._ops[site.owner]) for site, seen in self._observed.items())
        self.budget.left -= sum(times * ops for times, ops in flips)
        if self._claims and point.is_complete and not self.budget.is_spent:
            for site, shown in observable_sides(
                point.problem, final_gradients(point), self._claims, point.scope(point.last_step), self._observed
            ).items():
                self._observed.setdefault(site, set()).update(shown)

    def is_visited(self, site: BranchSite, side: int) -> bool:
        """Return whether a point is on this side; edges always count as visited."""
        return side in self._visited.get(site, {side}) or (side == 0 and site.op not in EQUALITY_OPS)

    def is_undefined(self, site: BranchSite, side: int) -> bool:
        """Return whether gradients are NaN at all elements met on this side."""
        return (site, side) in self._outside and not self.is_visited(site, side)

    def is_unobserved(self, site: BranchSite, side: int) -> bool:
        """Return whether this side has never mattered, while another has."""
        shown = self._observed.get(site, ())
        return bool(shown) and abs(side) < 2 and side in site.sides and side not in shown

    def _edge_goals(self) -> list[tuple[BranchSite, int]]:
        """Return edges of claims' comparisons at which the graph has no kink."""
        listed = [s for s in self._visited if s.owner in self._claims and s.op in _EDGED and not s.compares_integers]
        at = [self._margins(point) for point in self._points[:2]] if listed else []
        return [(site, 0) for site in listed if not any(self._is_kink(site, found) for found in at)]

    def _is_kink(self, site: BranchSite, found: Mapping[BranchSite, Margin]) -> bool:
        others = [margin for other, margin in found.items() if other.owner in self._graph]
        return site not in found or any(_same_side(found[site], margin, 1) for margin in others)

    def _has_usual_sizes(self, point: Point) -> bool:
        """Return whether no size is 1 unless the case's is: 1 makes much equal."""
        own = self._points[0].problem.sizes
        return all(size != 1 or own[word] == 1 for word, size in point.problem.sizes.items())

    @property
    def has_undecided_claims(self) -> bool:
        """True if a claim that is not settled compares anything."""
        return bool(self._claims)

    @property
    def asks_for_equality(self) -> bool:
        """True if an unsettled claim tests for ties, other than `x == x`."""
        return any(s.op in _TYING and s.owner in self._claims and found - {0} for s, found in self._visited.items())

    def sides_at(self, point: Point) -> dict[BranchSite, set[int]]:
        return sides_met(self._margins(point), near=False)

    def _margins(self, point: Point) -> Mapping[BranchSite, Margin]:
        """Return margins, of claims only where their gradient is defined."""
        scope, gradients = point.scope(point.last_step) if point.is_complete else None, final_gradients(point)
        found = margins_at(point.problem, gradients, self._owners, scope)
        undefined = {n: lost for n, g in gradients.items() if (lost := np.isnan(g)).any()}
        return (
            {site: self._in_domain(site, margin, undefined) for site, margin in found.items()} if undefined else found
        )

    def _in_domain(self, site: BranchSite, margin: Margin, undefined: Mapping[str, np.ndarray]) -> Margin:
        names = [n for n, claims in self._case.formulas.items() if any(c.text == site.owner for c in claims)]
        lost = [undefined[n] for n in names or undefined if n in undefined and undefined[n].shape == margin.scale.shape]
        if not lost or site.owner in self._graph or site.op in EDGES:
            return margin
        outside = np.all(lost, axis=0)
        self._outside |= {(site, side) for side in site.sides if site.is_on(margin.numbers[outside], side)}
        return margin._replace(difference=np.where(outside, np.nan, margin.numbers))

    def missing_goals(self) -> Iterator[tuple[BranchSite, int]]:
        """Yield the sides still unvisited, then unobserved ones, then edges."""
        for site in list(self._visited):
            if site.owner in self._decided and (
                site.op not in EQUALITY_OPS or site.compares_integers or site.owner in self._graph
            ):
                continue
            for side in sorted(site.sides, key=abs):
                if side not in self._visited.get(site, {side}):
                    yield site, side
        for goal in [(s, side) for s in self._observed for side in s.sides if self.is_unobserved(s, side)]:
            if self.is_unobserved(*goal):  # not yet observed
                yield goal
        yield from (goal for goal in self._edge_goals() if goal[1] not in self._visited.get(goal[0], goal))

    def reach(self, site: BranchSite, side: int) -> Iterator[Problem]:
        """Yield problems on this side; without success, half of the numbers stay."""
        is_reached = False
        if self.is_unobserved(site, side) and site.op not in EQUALITY_OPS:  # all elements, of which some may matter
            found = (search.find((site, 2 * side)) for search in self._searches[:2])
            yield from (problem for problem in found if problem is not None)
        for number, search in enumerate(self._searches):
            problem = search.find((site, side))
            if problem is not None:
                is_reached = True
                yield problem
            elif number and not is_reached:  # two searches have failed
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
        """Yield problems on this side, from one more point."""
        search = BranchSearch(point.problem, final_gradients(point), self.budget)
        found = (search.find((site, one)) for one in (2 * side, side))
        yield from (problem for problem in found if problem is not None)

    @cached_property
    def _searches(self) -> list[BranchSearch]:
        usual = sorted(
            (point for point in self._points if self._has_usual_sizes(point)),
            key=lambda point: has_underflowing_squares(point.problem),
        )
        others = [point for point in self._points if not self._has_usual_sizes(point)]
        return [BranchSearch(p.problem, final_gradients(p), self.budget) for p in (*usual[:_STARTS], *others[:1])]


def _same_side(one: Margin, other: Margin, side: int) -> set[int]:
    """Return the side of a margin that is another one or its opposite."""
    a, b = one.numbers, other.numbers
    signs = [sign for sign in (1, -1) if a.shape == b.shape and np.array_equal(a, sign * b, equal_nan=True)]
    return {sign * side for sign in signs} | ({side} if one is other else set())


def has_underflowing_squares(problem: Problem) -> bool:
    """Return whether inputs are so small that their squares are 0."""
    floats = [array for array in problem.inputs.values() if array.dtype.kind in "fc"]
    least = [math.sqrt(np.finfo(array.dtype).smallest_subnormal) for array in floats]
    return any(bool(((a != 0) & (np.abs(a) < root)).any()) for a, root in zip(floats, least, strict=True))


def observable_sides(
    problem: Problem, gradients: Mapping[str, Any], owners: Container[str], known: Any = None, observed: Any = None
) -> dict[BranchSite, set[int]]:
    """Return further sides of claims' own comparisons that matter, or raise.

    A side of `x < -2.5` does not matter for elements that a mask multiplies by 0. (For conditions in programs this is
    MC/DC: Chilenski and Miller, Software Engineering Journal 9(5), 1994.)"""
    found: dict[BranchSite, set[int]] = {}
    with no_grad(), quiet():
        log, names, held = log_margins_at(problem, gradients, owners, known)
        for name, claim in named_claims(problem.case):
            stated = [(s, m) for s, m in log.margins.items() if s.owner == name and m.is_stated and name in owners]
            value = partial(_value, name, claim, names, held)
            unflipped = value(None) if stated else None
            for site, margin in stated if unflipped is not None else ():
                others = [side for side in site.sides if abs(side) < 2 and side not in (observed or {}).get(site, ())]
                on = [side for side in others if site.is_on(margin.numbers, side)]
                found[site] = {side for side in on if not _equal(unflipped, value((site.number, side)))}
    return found


def _equal(one: np.ndarray | None, other: np.ndarray | None) -> bool:
    return one is not None and other is not None and np.array_equal(one, other, equal_nan=True)


def _value(
    name: str, claim: Claim, names: Mapping[str, Any], gradients: Mapping[str, Any], flipped: tuple[int, int] | None
) -> np.ndarray | None:
    """Return a claim's value with one comparison flipped, None if it has none."""
    log = MarginLog(flipped=flipped)
    log.enter(name, claim, True)
    try:
        value = evaluate(claim.expr, WrappedNames(names, log), gradients=WrappedNames(gradients, log))
    except (GradcheckError, TypeError, ValueError):
        return None
    plain = unwrap(value)
    parts = plain if isinstance(plain, (tuple, list)) else (plain,)  # a step may have several results
    return np.concatenate([as_array(part).astype(np.complex128).ravel() for part in parts])


#: The points that are compared, and the most tensors.
_POINTS, _MOST = 3, 64
_RELATIONS = {-2: "<", -1: "<", 0: "==", 1: ">", 2: ">"}


#: The margin of a comparison at one point, and the tensors that it may be made of.
_PointMargin = tuple[np.ndarray, dict[str, np.ndarray]]


def side_condition(points: Sequence[Point], site: BranchSite, side: int) -> str:
    """Return `x > 6`, the comparison as written, or ""."""
    seen = [found for found in (_margin_at(point, site) for point in points[:_POINTS]) if found is not None]
    for name, sign in product(seen[0][1] if seen else (), (1, -1)):  # left of the comparison, or right
        threshold = _threshold(seen, name, sign)
        if threshold is not None:
            relation = "!=" if site.op in EQUALITY_OPS and side == 1 else _RELATIONS[side * sign]
            return f"{name} {relation} {threshold:.6g}{' everywhere' if abs(side) == 2 else ''}"
    return _as_written(points[0].problem.case, site)


def _margin_at(point: Point, site: BranchSite) -> _PointMargin | None:
    if not point.is_complete:
        return None
    problem, scope = point.problem, point.scope(point.last_step)
    try:
        found = margins_at(problem, scope.gradients, (site.owner,)).get(site)
    except GradcheckError:
        return None
    if found is None or not found.numbers.size:
        return None
    named = {n: v for n, v in scope.items() if isinstance(v, np.ndarray) and v.dtype.kind == "f"}
    named |= {f"grad({n})": g for n, g in scope.gradients.items() if g.dtype.kind == "f"}
    fitting = {n: v for n, v in list(named.items())[:_MOST] if v.shape == found.numbers.shape}
    return found.numbers, fitting | {f"abs({n})": np.abs(v) for n, v in fitting.items()}


def _threshold(seen: Sequence[_PointMargin], name: str, sign: int) -> float | None:
    """Return the number that a tensor is compared with, if it is constant."""
    rest = np.concatenate([np.ravel(tensors[name] - sign * margin) for margin, tensors in seen if name in tensors])
    margin = np.concatenate([np.ravel(margin) for margin, _ in seen])
    if rest.size < 2 or np.ptp(margin) == 0 or not np.all(np.isfinite(rest)):
        return None
    threshold = float(np.median(rest))
    scale = max(abs(threshold), float(np.max(np.abs(margin))))
    if np.max(np.abs(rest - threshold)) > 1e-6 * scale:
        return None
    return 0.0 if abs(threshold) < 1e-12 * scale else threshold


def _as_written(case: Case, site: BranchSite) -> str:
    """Return the comparison as written, if there is one by this op."""
    stated = {**dict(case.graph), **dict(named_claims(case))}
    claim = stated.get(site.owner)
    calls = [] if claim is None else [n for n in claim.expr.walk() if isinstance(n, Call) and n.op == site.op]
    return f"the other side of `{to_text(calls[0])}`" if len(calls) == 1 else ""
