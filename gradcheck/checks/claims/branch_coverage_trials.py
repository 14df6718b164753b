"""Search points for sides of comparisons that no point of a case visits.

Comparisons of integers (`x.argmax() == 2`) have no slope to follow, and other sides are met only by chance. So numbers
are drawn, with and without a structure, until some are on the side; also at the sizes among which claims choose. Claims
that choose by sizes, drawn integers or masks (`n == 6`, `min(n, 7)`, `(t == 7).all()`) get trials themselves.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import chain, islice, product
from typing import NamedTuple

from gradcheck.checks.branches.branch_coverage import BranchCoverage, has_underflowing_squares, side_condition
from gradcheck.checks.branches.branch_sites import FLIPPABLE_OPS, Goal, SearchBudget, compared_sides, named_claims
from gradcheck.checks.branches.search_variables import scaled_incoming
from gradcheck.checks.branches.size_branches import ConstantBranches, SizeBranches
from gradcheck.checks.claims.certificates import proved_formulas
from gradcheck.checks.context import Context
from gradcheck.checks.points.degenerate import is_usable, point_in_domain
from gradcheck.checks.points.drawing import Points
from gradcheck.checks.points.point import Point, is_informative, rejection_reason
from gradcheck.facts import Fact, fact
from gradcheck.language.array_structures import DISTINCT_STRUCTURES, STRUCTURES, Structure
from gradcheck.language.case import Case
from gradcheck.language.expr.traverse import ops_in
from gradcheck.language.problem import Problem
from gradcheck.language.trial_draws import Variation, is_general, needs_varied_incoming, size_bounds, symbolic_sizes

#: The limit for each of the two kinds.
_MAX_TRIALS = 8


class ChoiceTrials:
    """Visits the choices of claims; points are counted from `count`."""

    def __init__(self, case: Case, points: Points, compare: Callable[[Point | None], bool], count: int) -> None:
        """Take `compare`, which checks a point, and keeps it if it is usable."""
        self.case, self.points = case, points
        self._compare, self._count = compare, count
        self.choice_sizes: list[Mapping[str, int]] = []  # at which claims choose differently
        self.unvisited: list[Fact] = []  # sizes with other outcomes, too large to try

    def visit(self) -> None:
        """Add trials for unvaried sizes, choices of sizes and of constants."""
        self._try_unvaried_sizes()
        self._try_size_choices()
        self._try_constant_choices()

    def _try_unvaried_sizes(self) -> None:
        """Add a trial for each size that has not varied with nonzero gradients."""
        own = self.points.own.problem.sizes
        known = [point.problem.sizes for point in self._informative_points()]
        for word in symbolic_sizes(self.case) if self.points.trials else ():
            if word not in self.points.fixed_sizes and len({sizes[word] for sizes in known}) == 1:
                low, high = size_bounds(self.case).get(word, (1, own[word] + 2 if is_general(self.case) else 1))
                others = [size for size in (own[word] + 1, own[word] + 2, own[word] - 1) if low <= size <= high]
                any(
                    self._is_informative_at(self._at({**own, word: size}, attempt))
                    for size, attempt in product(others, (1, 3))
                )

    def _try_size_choices(self) -> None:
        """Add trials for other outcomes of comparisons of sizes."""
        branches = SizeBranches(self.case)
        if not branches.nodes:
            return
        for point in self._informative_points():
            branches.mark_seen(point.problem.sizes)
        own, held = self.points.own.problem.sizes, self.points.fixed_sizes
        for sizes in branches.generic_sizes(own, held):
            if sizes not in self._visited_sizes():
                self._visit_sizes(sizes, branches)
        searched = self._count
        for sizes in islice(branches.unseen_sizes(own, held), 4 * _MAX_TRIALS):
            if branches.is_too_large(sizes, own):
                self._name_too_large(sizes, branches)
            elif self._count - searched < _MAX_TRIALS:
                self._visit_sizes(sizes, branches)
        self.choice_sizes = branches.distinct_kinds(self._visited_sizes())[1:]

    def _name_too_large(self, sizes: Mapping[str, int], branches: SizeBranches) -> None:
        own, nodes = self.points.own.problem.sizes, branches.unseen_nodes(sizes)
        where = ", ".join(f"{word} = {size}" for word, size in sizes.items() if size != own[word])
        for name, claim in (*self.case.graph.items(), *named_claims(self.case)):
            if any(part in nodes for part in claim.expr.walk()):
                self.unvisited.append(fact("sizes_not_tried", owner=name, where=where))
        branches.mark_seen(sizes)

    def _try_constant_choices(self) -> None:
        """Add trials for other outcomes with drawn labels, indices and masks."""
        branches = ConstantBranches(self.points.own.problem)
        if not branches.nodes:
            return
        for point in self._informative_points():
            branches.mark_seen(point.problem)
        made: list[Point] = []

        def drawn(sizes: Mapping[str, int], structure: Structure | None, attempt: int) -> Problem | None:
            point = self.points.point_of_sizes(sizes, self._count + 1, attempt, structure)
            made[:] = [] if point is None else [point]
            return None if point is None else point.problem

        searched = self._count
        for problem in branches.unseen_problems([p.problem for p in self.points.trials], drawn):
            if self._compare_at(made[0]):
                branches.mark_seen(problem, is_informative(made[0]))
            if self._count - searched >= _MAX_TRIALS:
                break

    def _informative_points(self) -> Iterator[Point]:
        return filter(is_informative, (self.points.own, *self.points.trials))

    def _visited_sizes(self) -> list[Mapping[str, int]]:
        return [point.problem.sizes for point in (self.points.own, *self.points.trials)]

    def _visit_sizes(self, sizes: Mapping[str, int], branches: SizeBranches) -> None:
        drawn = any(self._is_informative_at(self._at(sizes, attempt)) for attempt in (1, 3, 5))
        if drawn or self._is_informative_at(point_in_domain(self.points, sizes, self._count + 1)):
            branches.mark_seen(sizes)

    def _at(self, sizes: Mapping[str, int], attempt: int) -> Point | None:
        return self.points.point_of_sizes(sizes, self._count + 1, attempt)

    def _is_informative_at(self, point: Point | None) -> bool:
        """Return whether the point is usable and has nonzero gradients."""
        return self._compare_at(point) and point is not None and is_informative(point)

    def _compare_at(self, point: Point | None) -> bool:
        is_usable = self._compare(point)
        self._count += is_usable
        return is_usable


#: Draws without a structure, sizes of choices, and the last attempt at a structure.
_PLAIN, _SIZES, _LAST_ATTEMPT = 24, 3, 13
#: Structures that are always tried if a claim tests equality.
_EXACT: tuple[Structure, ...] = (*DISTINCT_STRUCTURES, "equal", "mirrored", "whole", "zero")

#: Structures with as many positive as negative numbers; tried at small sizes too.
_PAIRED: tuple[Structure, ...] = ("mirrored", "alternating")


class DecidedFormulas(NamedTuple):
    """Failed formulas by tensor and text, and refuted ones by text."""

    failed: Collection[tuple[str, str]]
    refuted: Collection[str]


class BranchCoverageTrials:
    """Visits the sides of comparisons; points are counted from `count`."""

    def __init__(self, context: Context, known: DecidedFormulas, compare: Callable[[Point], bool], count: int) -> None:
        """Take `compare`, which checks a point and returns if it is usable."""
        self.context, self.case, self.points = context, context.case, context.points
        self._compare, self._count = compare, count
        self._unobserved: list[Goal] = []  # visited sides on which nothing was observable
        self._budget, self._unsearched = SearchBudget(), set[Goal]()  # sides for which no budget was left
        self._decided, self._has_undecided = self._find_decided(known)

    def _find_decided(self, known: DecidedFormulas) -> tuple[set[str], bool]:
        """Return decided formulas and steps; whether a formula is undecided."""
        case = self.case
        settled = {claim.text for claim in proved_formulas(self.context, known.failed)} | {*known.refuted}
        listed = [claims for section in (case.formulas, case.wrong_formulas) for claims in section.values()]
        open_formulas = [claim for several in listed for claim in several if claim.text not in settled]
        needed = {step for claim in (*open_formulas, *case.checks) for step in case.let_steps_of(claim.expr)}
        return settled | (case.let.keys() - needed), bool(open_formulas)

    def visit(self, of_sizes: Sequence[Mapping[str, int]]) -> list[Fact]:
        """Visit each side, at these sizes too; return a note for each missed one."""
        coverage = BranchCoverage(self.case, self._decided, self._budget)
        known = [self.points.own, *self.points.other_points]
        coverage.visit(known)
        own = self.points.own.problem.sizes
        small = {word: size if word in self.points.fixed_sizes else min(size, 2) for word, size in own.items()}
        left = self._draw_for_goals(coverage, [*self._unreached_goals(coverage)], own, small)
        self._try_incoming(coverage)
        for sizes in of_sizes[:_SIZES]:
            of_size = BranchCoverage(self.case, {*self._decided, *self.case.graph}, self._budget)
            of_size.visit([p for p in known if p.problem.sizes == sizes])
            self._draw_for_goals(of_size, [*self._unreached_goals(of_size)], sizes, sizes)
        self.points.kink_points = coverage.kink_points
        seen, facts = [self.points.own, *self.points.other_points], []
        unvisited = [goal for goal in (*left, *self._unobserved) if not self._is_within_check(goal)]
        unnamed = [goal for goal in unvisited if goal in self._unsearched][3:]  # names take evaluations
        for goal in unvisited:
            owner, where = goal[0].owner, "" if goal in unnamed else side_condition(seen, *goal)
            missed = fact("branch_not_visited", owner=owner, op=goal[0].op, where=where)
            skipped = fact("sides_not_searched", owner=owner, sides=1, where=(where,))
            facts.append(skipped if goal in self._unsearched else missed)
        return facts

    def _is_within_check(self, goal: Goal) -> bool:
        """Return whether a check only computes with it: `abs(a - b) < 1e-9`."""
        sides = (side for check in self.case.checks for side in compared_sides(check) if side.text == goal[0].owner)
        return any(goal[0].op not in FLIPPABLE_OPS.intersection(ops_in(side.expr)) for side in sides)

    def _unreached_goals(self, coverage: BranchCoverage) -> Iterator[Goal]:
        for goal in coverage.missing_goals():
            for problem in chain(
                coverage.reach(*goal),
                self._problems_from_tiny(coverage, goal),
                self._with_scaled_incoming(coverage, goal),
            ):
                if self._compare_at(self.points.branch_point(problem, self._count + 1)) and coverage.visit(
                    [self.points.other_points[-1]], goal
                ):
                    break
            else:
                self._unsearched.update([goal] * self._budget.is_spent)
                if coverage.is_undefined(*goal) and not self._budget.is_spent:
                    continue
                if not coverage.is_visited(*goal):
                    yield goal
                elif coverage.is_unobserved(*goal):
                    self._unobserved.append(goal)

    def _problems_from_tiny(self, coverage: BranchCoverage, goal: Goal) -> Iterator[Problem]:
        """Yield problems near tiny numbers, where nothing else saturates."""
        if coverage.is_visited(*goal):
            is_wanted = coverage.is_unobserved(*goal)
        else:
            is_wanted = self._is_stated(goal) and any(
                point.may_be_off_by_rounding for point in self.points.other_points
            )
        if is_wanted and not self._budget.is_spent:
            sizes = self.points.own.problem.sizes
            point = self.points.point_of_sizes(sizes, self._count + 1, 1, "tiny")
            if point is not None and not rejection_reason(point):
                yield from (p for p in coverage.reach_from(point, *goal) if not has_underflowing_squares(p))

    def _with_scaled_incoming(self, coverage: BranchCoverage, goal: Goal) -> Iterator[Problem]:
        """Yield problems with scaled incoming gradients that reach the side."""
        if self._is_stated(goal) and not self._budget.is_spent:
            for problem in scaled_incoming(self.points.own.problem):
                point = self.points.branch_point(problem, self._count + 1)
                if not rejection_reason(point) and goal[1] in coverage.sides_at(point).get(goal[0], ()):
                    yield problem

    def _is_stated(self, goal: Goal) -> bool:
        """Return whether a claim, not the graph, compares elementwise there."""
        return goal[0].owner not in self.case.graph and not goal[0].compares_integers

    def _try_incoming(self, coverage: BranchCoverage) -> None:
        """Compare at incoming gradients of each structure, if literals fix them."""
        if self._has_undecided and coverage.has_undecided_claims and needs_varied_incoming(self.case):
            for structure in DISTINCT_STRUCTURES:
                varied = Variation(incoming=True, structure=structure)
                point = self.points.redraw(self.points.own, varied, self._count + 1)
                if point is not None and not rejection_reason(point):
                    self._compare_at(point)

    def _draw_for_goals(
        self, coverage: BranchCoverage, goals: Sequence[Goal], sizes: Mapping[str, int], small: Mapping[str, int]
    ) -> list[Goal]:
        """Draw numbers for the sides of claims; return the goals that are left.

        If some claim is undecided, each structure is tried in any case, since it may meet several sides together. If
        gradients are 0 at a side, other numbers of that structure are drawn."""
        left = [goal for goal in goals if goal[0].owner not in self.case.graph]
        is_open = self._has_undecided and coverage.has_undecided_claims  # structures are tried for formulas only
        always = () if not is_open else _EXACT if coverage.asks_for_equality else DISTINCT_STRUCTURES
        draws = deque(_draws())
        while draws:
            structure, attempt = draws.popleft()
            in_any_case = structure in always and (attempt == 1 or (structure in _PAIRED and small != sizes))
            if (structure is None or attempt > 1) and not left and not in_any_case:
                break
            if not left and not in_any_case:
                continue
            point = self.points.point_of_sizes(
                sizes if attempt % 4 == 1 else small, self._count + 1, attempt, structure
            )
            if not is_usable(point):
                continue
            met = coverage.sides_at(point) if left else {}
            now = [(site, side) for site, side in left if side not in met.get(site, ())]
            if not in_any_case and len(now) == len(left):
                continue
            if self._compare_at(point) and is_informative(point):
                left = now
            elif structure is not None and len(now) < len(left) and attempt < _LAST_ATTEMPT:
                draws.appendleft((structure, attempt + 2))
        return [goal for goal in goals if goal in left or goal[0].owner in self.case.graph]

    def _compare_at(self, point: Point) -> bool:
        is_usable = self._compare(point)
        self._count += is_usable
        return is_usable


def _draws() -> Iterator[tuple[Structure | None, int]]:
    yield from ((structure, 1) for structure in STRUCTURES)
    yield from ((structure, 3) for structure in _PAIRED)
    yield from ((None, 2 * number + 1) for number in range(_PLAIN))
