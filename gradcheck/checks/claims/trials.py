"""Check the claims at other numbers and sizes, if the case says they vary.

A formula may be right at one point by accident; a wrong one must fail somewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from gradcheck.checks.branches.branch_sites import compared_sides
from gradcheck.checks.claims.element_conditions import size_condition
from gradcheck.checks.claims.evaluations import check_engine
from gradcheck.checks.claims.formulas import check_formula, check_formulas, check_general
from gradcheck.checks.claims.stated_claims import StepClaims, check_identity
from gradcheck.checks.claims.undefined_formulas import is_undefined, is_unstable
from gradcheck.checks.claims.wrong_formulas import WrongFormula, try_to_refute
from gradcheck.checks.closeness.compare import is_all_nan_or_empty
from gradcheck.checks.context import Context
from gradcheck.checks.points.degenerate import are_sizes_informative, degeneracy, is_finite, is_usable, point_in_domain
from gradcheck.checks.points.drawing import what_stays
from gradcheck.checks.points.point import Point, is_informative, rejection_reason
from gradcheck.checks.result import Comparison
from gradcheck.facts import Fact, fact
from gradcheck.language.array_structures import Structure
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.language.trial_draws import (
    Variation,
    is_general,
    is_thorough,
    mentions_root_gradient,
    moves_literals,
    needs_varied_incoming,
    trial_spread,
    trials,
)

#: How often literals are moved anywhere until the graph is defined.
_MAX_ATTEMPTS = 6
#: Further structures of numbers for user code.
_CODE_STRUCTURES: tuple[Structure, ...] = ("whole", "tiny", "huge", "ascending")


def applies(context: Context) -> bool:
    """Return whether claims must hold elsewhere, or be refuted."""
    return (is_general(context.case) or bool(context.case.wrong_formulas)) and context.can_be_checked


def check(context: Context) -> Iterator[Comparison]:
    """Refute wrong formulas, then check general claims at trials."""
    case, own = context.case, context.points.own
    wrong = [WrongFormula(name, claim) for name, listed in case.wrong_formulas.items() for claim in listed]
    if own.is_complete:
        try_to_refute(wrong, own, context.options.tolerance)
    elsewhere = _OtherPoints(context, wrong)
    if is_general(case) or wrong:
        elsewhere.run()
    found = [one.verdict() for one in wrong if one.last_comparison is not None]
    notes = (*elsewhere.notes, *what_stays(own.problem, [p.problem for p in context.points.trials]))
    if notes or elsewhere.unvisited_sides:
        context.amend(lambda c: c.what.is_general, lambda c: c.with_notes(*notes, *elsewhere.unvisited_sides_of(c)))
    yield from (c.with_notes(*notes, *elsewhere.unvisited_sides_of(c)) for c in found)
    yield from elsewhere.found


class _OtherPoints:
    """All other points of one case: trials first, then variants, from 1."""

    def __init__(self, context: Context, wrong: Sequence[WrongFormula]) -> None:
        self.context, self.case, self.wrong = context, context.case, wrong
        self.points = context.points
        self.run_tolerance = context.options.tolerance
        self.failed = {(c.tensor, c.formula) for c in context.found if c.status == "failed"}
        self.found: list[Comparison] = []
        self.notes: list[Fact] = []  # why trials are not usable
        self.unvisited_sides: list[Fact] = []  # sides of branches that no point visits
        self.accepted_sizes: list[Mapping[str, int]] = [self.points.own.problem.sizes]
        self.rejected_sizes: list[Mapping[str, int]] = []  # sizes without a usable point
        self.choice_sizes: list[Mapping[str, int]] = []  # at which claims choose differently
        self.count = 0

    def run(self) -> None:
        """Run trials, other incoming gradients, moved literals and branches."""
        numbers = trials(self.case, self.context.options.trials)
        outside = [self._run_trial(number) for number in numbers]
        self.count = len(numbers)
        in_domain = (point_in_domain(self.points, sizes, self.count + 1) for sizes in outside if sizes)
        others = sum(self._compare_and_keep(point, self._compare_all, of_trials=True) for point in in_domain)
        if is_general(self.case) and self.context.options.trials != 0:
            others += self._try_choices() + self._try_incoming() + self._try_literals() + self._try_branches()
            others += self._try_structures() if is_thorough(self.case) else 0
        if len(self.notes) == len(numbers) and is_general(self.case) and not others:
            self.notes.append(fact("at_these_numbers_only"))
        condition = size_condition(
            self.accepted_sizes, self.rejected_sizes, partial(are_sizes_informative, self.points)
        )
        if condition:
            self.notes.append(fact("needs_sizes", condition=condition))

    def unvisited_sides_of(self, c: Comparison) -> list[Fact]:
        """Return unvisited sides of the graph and of what this claim uses."""
        listed = (*self.case.formulas.get(c.tensor, ()), *self.case.wrong_formulas.get(c.tensor, ()), *self.case.checks)
        steps = {step for claim in listed if claim.text == c.formula for step in self.case.let_steps_of(claim.expr)}
        sides = {side.text for claim in self.case.checks if claim.text == c.formula for side in compared_sides(claim)}
        of_claim = [n for n in self.unvisited_sides if n["owner"] in {*self.case.graph, *steps, *sides, c.formula}]
        visible = list({n["where"] or n: n for n in of_claim if n.kind != "sides_not_searched"}.values())
        unsearched = [n for n in of_claim if n.kind == "sides_not_searched"]
        where = tuple(dict.fromkeys(text for n in unsearched for text in n["where"] if text))
        return [fact("sides_not_searched", sides=len(unsearched), where=where), *visible] if unsearched else visible

    def _run_trial(self, number: int) -> Mapping[str, int] | None:
        """Run a trial; return its sizes if all numbers were out of the domain."""
        found: list[Comparison] = []
        outside: list[Point] = []
        before = [one.refutation for one in self.wrong]

        def accept(point: Point) -> Fact | None:
            why = rejection_reason(point)
            drawn = point.problem.draw_settings
            if why is None and not is_finite(point):
                outside.append(point)
                if trial_spread(drawn.trial, drawn.attempt) != "ordinary":
                    why = fact("not_finite_here")
            if why is None and self.points.is_refused(point):
                why = fact("code_raises_here")
            if why is None:
                found[:] = self._compare_all(point)
                general = (c for c in found if c.what.is_general and not self._is_empty_here(c))
                empty = any(map(is_all_nan_or_empty, general))
                if empty and all(c.status == "passed" for c in found):
                    why = fact("all_is_nan")
                why = why or self._degeneracy(point, found, before)
            elif point.want.error is not None and point.want.error.kind == "domain_error":
                self.rejected_sizes.append(point.problem.sizes)
            return why

        point = self.points.draw_trial(number, accept)
        if isinstance(point, Fact):
            self.notes.append(point)
        else:
            self.found += found
            self.accepted_sizes.append(point.problem.sizes)
        is_outside = bool(outside) and (isinstance(point, Fact) or outside[-1] is point)
        return outside[0].problem.sizes if is_outside else None

    def _is_empty_here(self, c: Comparison) -> bool:
        """Return whether a claim has no elements at the case's own numbers."""
        if c.what is ClaimKind.CHECK:
            return any(own.formula == c.formula and own.has_note("no_elements") for own in self.context.found)
        values = self.points.own.want.states[-1].values
        return c.tensor in values and values[c.tensor].size == 0

    def _degeneracy(
        self, point: Point, found: Sequence[Comparison], before: Sequence[Comparison | None]
    ) -> Fact | None:
        """Return why the point is not usable; then undo its refutations."""
        refutations = [one.refutation for one, was in zip(self.wrong, before, strict=True) if one.refutation is not was]
        differing = [replace(c, status="failed") for c in refutations if c is not None]
        why = degeneracy(point, [*found, *differing])
        if why is not None:
            self.rejected_sizes.append(point.problem.sizes)
            for one, was in zip(self.wrong, before, strict=True):
                one.refutation = was
        return why

    def _claims(self, point: Point) -> StepClaims:
        return StepClaims(point, point.last_step, self.run_tolerance, self.failed)

    def _compare_engines(self, point: Point) -> list[Comparison]:
        listed = self.context.engines.tested
        return [c for e in listed for c in check_engine(point, point.evaluation(e), self.run_tolerance)]

    def _compare_all(self, point: Point) -> list[Comparison]:
        found = self._compare_engines(point)
        for index, step in enumerate(self.case.steps):
            claims = StepClaims(point, index, self.run_tolerance) if step.checks else None
            found += [check_identity(claims, claim) for claim in step.checks if claims]
        found += check_general(self._claims(point))
        try_to_refute(self.wrong, point, self.run_tolerance)
        return found

    def _compare_and_keep(
        self, point: Point | None, look: Callable[[Point], list[Comparison]], of_trials: bool = False
    ) -> bool:
        """Compare at a point and keep it; return whether it is usable."""
        if not is_usable(point) or self.points.is_refused(point):
            return False
        before = [one.refutation for one in self.wrong]
        found = look(point)
        if self._degeneracy(point, found, before) is not None:
            return False
        self.count += 1
        (self.points.trials if of_trials else self.points.variants).append(point)
        point.may_be_off_by_rounding = any(
            c.what is ClaimKind.FORMULA and self._may_be_off_by_rounding(c) for c in found
        )
        self.found += found
        return True

    def _may_be_off_by_rounding(self, c: Comparison) -> bool:
        """Return whether rounding or an overflow may explain the failure."""
        if c.has_note("within_rounding"):
            return True
        return c.is_failing and not is_undefined(c) and is_unstable(self.context, c)

    def _try_choices(self) -> int:
        from gradcheck.checks.claims.branch_coverage_trials import ChoiceTrials  # not needed without general claims

        before = self.count
        choices = ChoiceTrials(
            self.case, self.points, lambda p: self._compare_and_keep(p, self._compare_all, of_trials=True), self.count
        )
        choices.visit()
        self.choice_sizes = choices.choice_sizes
        self.unvisited_sides += choices.unvisited
        return self.count - before

    def _try_incoming(self) -> int:
        """Check root gradients under other incoming gradients than the literals."""
        if not needs_varied_incoming(self.case):
            return 0
        starts = [self.points.own, *self.points.trials[:1]]
        varied = Variation(incoming=True)
        return sum(
            self._compare_and_keep(self.points.redraw(p, varied, self.count + 1), self._compare_root_claims)
            for p in starts
        )

    def _compare_root_claims(self, point: Point) -> list[Comparison]:
        claims = self._claims(point)
        found: list[Comparison] = []
        for name, listed in self.case.formulas.items():
            found += [check_formula(claims, name, c) for c in listed if mentions_root_gradient(self.case, c.expr)]
        for one in self.wrong:
            if mentions_root_gradient(self.case, one.claim.expr):
                one.try_at(claims)
        return found

    def _try_literals(self) -> int:
        """Check formulas at moved literals: a little, then anywhere defined.

        If all gradients are 0 there, as squares of tiny numbers are, the literals become ordinary."""
        if not moves_literals(self.case) or not (self.case.formulas or self.wrong or is_thorough(self.case)):
            return 0
        near = self._compare_and_keep(
            self.points.redraw(self.points.own, Variation("near"), self.count + 1), self._compare_moved
        )
        for attempt in range(_MAX_ATTEMPTS):
            far = self.points.redraw(self.points.own, Variation("anywhere"), self.count + 1, attempt)
            if self._compare_and_keep(far, self._compare_moved):
                return near + 1 + (not is_informative(self.points.variants[-1]) and self._try_ordinary())
        return int(near) + self._try_ordinary()

    def _try_ordinary(self) -> bool:
        varied = Variation("ordinary")
        return self._compare_and_keep(self.points.redraw(self.points.own, varied, self.count + 1), self._compare_moved)

    def _compare_moved(self, point: Point) -> list[Comparison]:
        try_to_refute(self.wrong, point, self.run_tolerance)
        found = [*check_formulas(self._claims(point))]
        found += self._compare_engines(point) if is_thorough(self.case) else []
        if point.problem.draw_settings.variation.literals is None:
            return found
        elsewhere = fact("not_at_other_numbers")
        return [replace(c, mismatch=elsewhere) if c.status == "failed" and not c.mismatch else c for c in found]

    def _try_structures(self) -> int:
        """Compare engines at numbers that draws hardly ever give."""
        sizes, before = self.points.own.problem.sizes, self.count
        for structure in _CODE_STRUCTURES:
            self._compare_and_keep(
                self.points.point_of_sizes(sizes, self.count + 1, 1, structure), self._compare_engines
            )
        return self.count - before

    def _compare_at_branch(self, point: Point) -> list[Comparison]:
        """Compare all; checks only if no literals move, as they may state them."""
        return (
            [*self._compare_engines(point), *self._compare_moved(point)]
            if moves_literals(self.case)
            else self._compare_all(point)
        )

    def _try_branches(self) -> int:
        """Check sides of comparisons that no other point visits."""
        from gradcheck.checks.branches.margin_recording import is_at_kink  # imported when needed
        from gradcheck.checks.claims.branch_coverage_trials import BranchCoverageTrials, DecidedFormulas

        def look(point: Point) -> bool:
            varied = point.problem.draw_settings.variation
            of_claims = self._compare_moved if varied.structure else self._compare_at_branch
            return self._compare_and_keep(point, self._compare_root_claims if varied.incoming else of_claims)

        before = self.count
        failed = {(c.tensor, c.formula) for c in (*self.context.found, *self.found) if c.is_failing}
        refutations = [(one.claim.text, self.points.at(one.refutation.trial)) for one in self.wrong if one.refutation]
        at_kink = {id(point): is_at_kink(point) for _, point in refutations}  # perhaps by a convention alone
        refuted = {text for text, point in refutations if not at_kink[id(point)]}
        sides = BranchCoverageTrials(self.context, DecidedFormulas(failed, refuted), look, self.count)
        self.unvisited_sides += sides.visit(self.choice_sizes)
        return self.count - before
