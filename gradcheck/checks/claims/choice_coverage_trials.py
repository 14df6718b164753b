"""Trials for claims that choose by sizes, or by drawn integers and masks.

Examples are `n == 6`, `min(n, 7)` and `(t == 7).all()`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import islice, product

from gradcheck.checks.branches.size_branches import ConstantBranches, SizeBranches
from gradcheck.checks.points.admissible import is_informative
from gradcheck.checks.points.degenerate import point_in_domain
from gradcheck.checks.points.drawing import Points
from gradcheck.checks.points.point import Point
from gradcheck.language.array_structures import Structure
from gradcheck.language.case import Case
from gradcheck.language.problem import Problem
from gradcheck.language.trial_draws import is_general, size_bounds, symbolic_sizes

#: The limit for each of the two kinds.
_MAX_TRIALS = 8


class ChoiceTrials:
    """Visits the choices of claims; points are counted from `count`."""

    def __init__(self, case: Case, points: Points, compare: Callable[[Point | None], bool], count: int) -> None:
        """Take `compare`, which checks a point, and keeps it if it is usable."""
        self.case, self.points = case, points
        self._compare, self._count = compare, count
        self.choice_sizes: list[Mapping[str, int]] = []  # at which claims choose differently

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
            if self._count - searched >= _MAX_TRIALS:
                break
            self._visit_sizes(sizes, branches)
        self.choice_sizes = branches.distinct_kinds(self._visited_sizes())[1:]

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
