"""Trials at which claims choose otherwise: among sizes (`n == 6`, `min(n, 7)`), and by labels, indices and masks that
are drawn (`(t == 7).all()`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import islice, product

from gradcheck.checks.branches.constant_branches import ConstantBranches
from gradcheck.checks.branches.size_branches import SizeBranches
from gradcheck.checks.points.degenerate import inside
from gradcheck.checks.points.point import Point
from gradcheck.checks.points.drawing import Points
from gradcheck.checks.points.admissible import is_telling
from gradcheck.language.case import Case
from gradcheck.language.problem import Problem
from gradcheck.language.array_structures import Structure
from gradcheck.language.trial_draws import symbolic_sizes

#: Trials of each of the two kinds, at most.
_MOST = 8


class OtherChoices:
    """Those of one case. `look` compares what is claimed at a point, and keeps it as a trial if it says anything; the
    points are counted from `count`."""

    def __init__(self, case: Case, points: Points, look: Callable[[Point | None], bool], count: int) -> None:
        self.case, self.points = case, points
        self._look, self._count = look, count
        self.of_sizes: list[Mapping[str, int]] = []  # at which claims choose otherwise among them

    def visit(self) -> None:
        """Trials for each size, for each choice among sizes, for each choice by what is drawn."""
        self._told_by_one()
        self._sizes()
        self._constants()

    def _told_by_one(self) -> None:
        """A trial for each size that is the same wherever gradients are not 0: others told nothing of it."""
        own = self.points.own.problem.sizes
        known = [point.problem.sizes for point in self._telling()]
        for word in symbolic_sizes(self.case) if self.points.trials else ():
            if word not in self.points.fixed_sizes and len({sizes[word] for sizes in known}) == 1:
                low, high = self.case.generalize.dims.get(word, (1, own[word] + 2)) if self.case.generalize else (1, 1)
                others = [size for size in (own[word] + 1, own[word] + 2, own[word] - 1) if low <= size <= high]
                any(self._tells(self._at({**own, word: size}, attempt)) for size, attempt in product(others, (1, 3)))

    def _sizes(self) -> None:
        """Trials at sizes at which what claims make of sizes alone comes out otherwise: `n == 6`, `n % 3`."""
        branches = SizeBranches(self.case)
        if not branches.nodes:
            return
        for point in self._telling():
            branches.see(point.problem.sizes)
        own, held = self.points.own.problem.sizes, self.points.fixed_sizes
        for sizes in branches.apart(own, held):
            if sizes not in self._visited():
                self._see(sizes, branches)
        searched = self._count
        for sizes in islice(branches.unseen(own, held), 4 * _MOST):
            if self._count - searched >= _MOST:
                break
            self._see(sizes, branches)
        self.of_sizes = branches.unlike(self._visited())[1:]

    def _constants(self) -> None:
        """Trials at which what claims make of labels, indices and masks that are drawn comes out otherwise."""
        branches = ConstantBranches(self.points.own.problem)
        if not branches.nodes:
            return
        for point in self._telling():
            branches.see(point.problem)
        made: list[Point] = []

        def drawn(sizes: Mapping[str, int], structure: Structure | None, attempt: int) -> Problem | None:
            point = self.points.sized(sizes, self._count + 1, attempt, structure)
            made[:] = [] if point is None else [point]
            return None if point is None else point.problem

        searched = self._count
        for problem in branches.unseen([p.problem for p in self.points.trials], drawn):
            if self._looked_at(made[0]):
                branches.see(problem, is_telling(made[0]))
            if self._count - searched >= _MOST:
                break

    def _telling(self) -> Iterator[Point]:
        return filter(is_telling, (self.points.own, *self.points.trials))

    def _visited(self) -> list[Mapping[str, int]]:
        return [point.problem.sizes for point in (self.points.own, *self.points.trials)]

    def _see(self, sizes: Mapping[str, int], branches: SizeBranches) -> None:
        drawn = any(self._tells(self._at(sizes, attempt)) for attempt in (1, 3, 5))
        if drawn or self._tells(inside(self.points, sizes, self._count + 1)):
            branches.see(sizes)

    def _at(self, sizes: Mapping[str, int], attempt: int) -> Point | None:
        """A point of ordinary numbers at these sizes."""
        return self.points.sized(sizes, self._count + 1, attempt)

    def _tells(self, point: Point | None) -> bool:
        """Whether a trial there says something, and its gradients are not 0."""
        return self._looked_at(point) and point is not None and is_telling(point)

    def _looked_at(self, point: Point | None) -> bool:
        says = self._look(point)
        self._count += says
        return says
