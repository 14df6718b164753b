"""Points on the other sides of comparisons: those that no point of a case is on are searched for, then drawn.

What a formula asks of whole numbers (`x.argmax() == 2`) has no slope to follow, and some of what it asks of others is
met by luck alone: numbers are drawn, with a structure and without, until some are on that side. Where claims choose
among sizes too, this is done at each of their sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from gradcheck.checks.branches.aims import Goal
from gradcheck.checks.branches.conditions import condition
from gradcheck.checks.branches.coverage import BranchCoverage
from gradcheck.checks.claims.certificates import proved
from gradcheck.checks.context import Context
from gradcheck.checks.hopeless_points import is_finite
from gradcheck.checks.points import Point, is_telling, unusable
from gradcheck.facts import Fact, fact
from gradcheck.language.structures import APART, STRUCTURES, Structure

#: So often numbers are drawn without a structure; at so many sizes that claims choose among.
_PLAIN, _SIZES = 24, 3
#: Structures that are looked at in any case where a claim asks whether numbers are equal.
_EXACT = (*APART, "whole", "zero")


class Known(NamedTuple):
    """The formulas that have failed somewhere, by tensor and text; and the wrong ones that are refuted, by text."""

    failed: Collection[tuple[str, str]]
    refuted: Collection[str]


class OtherSides:
    """The sides of one case's comparisons. `look` compares what is claimed at a point, and says whether it says
    anything; the points are counted from `count`."""

    def __init__(self, context: Context, known: Known, look: Callable[[Point], bool], count: int) -> None:
        self.context, self.case, self.points = context, context.case, context.points
        self._look, self._count = look, count
        self._settled, self._has_open = self._of(known)

    def _of(self, known: Known) -> tuple[set[str], bool]:
        """The formulas that the exact oracle proves, wrong ones that are refuted, and the steps that no other claim is
        made of; and whether some formula is none of these."""
        case = self.case
        settled = {claim.text for claim in proved(self.context, known.failed)} | {*known.refuted}
        listed = [claims for section in (case.formulas, case.wrong_formulas) for claims in section.values()]
        open_formulas = [claim for several in listed for claim in several if claim.text not in settled]
        needed = {step for claim in (*open_formulas, *case.checks) for step in case.steps_of(claim.expr)}
        return settled | (case.let.keys() - needed), bool(open_formulas)

    def visit(self, of_sizes: Sequence[Mapping[str, int]]) -> list[Fact]:
        """Points on each side, at these sizes too; a note for each side that is not reached."""
        coverage = BranchCoverage(self.case, self._settled)
        known = [self.points.own, *self.points.elsewhere]
        coverage.visit(known)
        left = self._drawn(coverage, [*self._searched(coverage)], self.points.own.problem.sizes)
        for sizes in of_sizes[:_SIZES]:
            of_size = BranchCoverage(self.case, {*self._settled, *self.case.graph})
            of_size.visit([p for p in known if p.problem.sizes == sizes])
            self._drawn(of_size, [*self._searched(of_size)], sizes)
        self.points.at_kinks = coverage.at_kinks
        seen = [self.points.own, *self.points.elsewhere]
        told = ((site, condition(seen, site, side)) for site, side in left)
        return [fact("branch_not_visited", owner=site.owner, op=site.op, where=where) for site, where in told]

    def _searched(self, coverage: BranchCoverage) -> Iterator[Goal]:
        """The sides that a search does not reach."""
        for goal in coverage.missing():
            for problem in coverage.reach(*goal):
                if self._looked_at(self.points.branch(problem, self._count + 1)) and coverage.visit(
                    [self.points.elsewhere[-1]], goal
                ):
                    break
            else:
                yield goal

    def _drawn(self, coverage: BranchCoverage, goals: Sequence[Goal], sizes: Mapping[str, int]) -> list[Goal]:
        """The sides of claims that numbers which are drawn are not on either, and those of the graph. Where a claim
        that is not settled compares anything, numbers of each structure are looked at in any case: sides that no point
        is on together are met there."""
        left = [goal for goal in goals if goal[0].owner not in self.case.graph]
        small = {word: size if word in self.points.fixed_sizes else min(size, 2) for word, size in sizes.items()}
        is_open = self._has_open and coverage.is_open  # at structures, formulas alone are looked at
        always = () if not is_open else _EXACT if coverage.asks_for_equality else APART
        for structure, attempt in _draws():
            if structure is None and not left:
                break
            in_any_case = structure in always
            if not left and not in_any_case:
                continue
            point = self.points.sized(sizes if attempt % 4 == 1 else small, self._count + 1, attempt, structure)
            if point is None or unusable(point) or not is_finite(point.want):
                continue
            met = coverage.sides_at(point) if left else {}
            now = [(site, side) for site, side in left if side not in met.get(site, ())]
            if (in_any_case or len(now) < len(left)) and self._looked_at(point) and is_telling(point):
                left = now
        return [goal for goal in goals if goal in left or goal[0].owner in self.case.graph]

    def _looked_at(self, point: Point) -> bool:
        says = self._look(point)
        self._count += says
        return says


def _draws() -> Iterator[tuple[Structure | None, int]]:
    """With which structure, and in which attempt: of ordinary numbers."""
    yield from ((structure, 1) for structure in STRUCTURES)
    yield from ((None, 2 * number + 1) for number in range(_PLAIN))
