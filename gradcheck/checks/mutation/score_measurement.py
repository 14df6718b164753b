"""Measure the mutation score of one case, and the smallest visible errors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.dtypes import largest_finite, wide
from gradcheck.autograd.modes import quiet, using_default_dtype
from gradcheck.checks.claims.evaluations import check_engine
from gradcheck.checks.claims.formulas import check_general
from gradcheck.checks.claims.operations import check_operations
from gradcheck.checks.claims.stated_claims import StepClaims
from gradcheck.checks.closeness.tolerance import Tolerance, claim_tolerance, engine_tolerance
from gradcheck.checks.context import Context
from gradcheck.checks.mutation.mutations import (
    FACTOR,
    PASSES_OVERWRITTEN,
    TOLERANCES,
    CoverageCore,
    MutantCore,
    Mutation,
    mutations_of,
    rule_mutations,
    sweep_mutations,
)
from gradcheck.checks.mutation_score import Mutant, MutationScore
from gradcheck.checks.options import Engines, Options
from gradcheck.checks.points.point import Point, rejection_reason
from gradcheck.checks.result import CaseResult
from gradcheck.facts import Fact, fact
from gradcheck.language.case import Case, Claim, StatedTolerance
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.language.expr.printer import to_text
from gradcheck.language.problem import Problem
from gradcheck.language.trial_draws import trials
from gradcheck.oracles.exact.prove import prove

#: Errors of NumPy where a mutation makes shapes that do not match; a run reports them too.
CRASHES = (ValueError, TypeError, ArithmeticError, LookupError)
#: The relative difference up to which gradients are equal.
_LAST_DIGITS = 1e-14
#: The number of unseen points at which an equivalent mutation changes nothing.
_UNSEEN = 3


def with_mutation_score(result: CaseResult, case: Case, options: Options, engines: Engines) -> CaseResult:
    """Return a passing result with its mutation score; others unchanged."""
    return (
        replace(result, power=measure_mutation_score(case, options, engines)) if result.status == "passed" else result
    )


def measure_mutation_score(case: Case, options: Options, engines: Engines) -> MutationScore | None:
    """Return a passing case's score; None without gradients."""
    with using_default_dtype(dtypes.real_of(dtypes.BY_NAME[options.apply(case).dtype])), quiet():
        points = PointSet(case, options, engines)
        right = CoverageCore()
        arrived = (g is not None for state in points.own.want.states for g in state.gradients.values())
        if not points.own.evaluation(right).states or not any(arrived):
            return None
        tried = [*core_mutants(points, right), *formula_mutants(points)]
        smallest = smallest_errors(points.own, options.tolerance)
    mutants = tuple(mutant for mutant in tried if mutant is not None)
    return MutationScore(mutants, len(tried) - len(mutants), smallest)


class PointSet:
    """The case's own numbers, its trials, and points that no run visits."""

    def __init__(self, case: Case, options: Options, engines: Engines) -> None:
        self._context = context = Context.of(case, options, engines)
        self.own: Point = context.points.own
        self.case = context.case  # in the run's dtype
        self.tolerance = options.tolerance

    @cached_property
    def trials(self) -> list[Point]:
        """The trials of a run."""
        numbers = trials(self.case, self._context.options.trials)
        drawn = [self._context.points.draw_trial(number, rejection_reason) for number in numbers]
        return [point for point in drawn if isinstance(point, Point)]

    @cached_property
    def unseen(self) -> list[Point]:
        """Points that no run visits."""
        drawn = [self._context.points.unseen_point(number) for number in range(_UNSEEN)]
        return [point for point in drawn if point is not None]


def core_mutants(points: PointSet, right: CoverageCore) -> Iterator[Mutant | None]:
    """Yield the core's mutants in this case; None for an equivalent one."""
    mutations = [*rule_mutations(right.applied), *sweep_mutations(right.reused_tensors)]
    if sum(step.action == "backward" for step in points.case.steps) > 1:
        mutations.append(PASSES_OVERWRITTEN)
    for mutation in mutations:
        caught_by = core_mutant_caught_by(points, mutation)
        counts = caught_by or changes_something(points, mutation, right)
        yield Mutant(mutation.kind, mutation.where, caught_by) if counts else None


def core_mutant_caught_by(points: PointSet, mutation: Mutation) -> str:
    """Return what shows the mutation: gradient, node, trial or ""."""
    engine = MutantCore(mutation)
    if _differs(points, points.own, engine):
        return "gradient"
    if mutation.op is not None and _node_differs(points, engine):
        return "node"
    return "trial" if any(_differs(points, point, engine) for point in points.trials) else ""


def _differs(points: PointSet, point: Point, engine: MutantCore) -> bool:
    try:
        got = engine.evaluate(point.problem)
    except CRASHES:
        return True
    return any(c.is_failing for c in check_engine(point, got, points.tolerance))


def _node_differs(points: PointSet, engine: MutantCore) -> bool:
    try:
        return any(c.is_failing for c in check_operations(points.own, [engine], points.tolerance))
    except CRASHES:
        return True


def changes_something(points: PointSet, mutation: Mutation, right: CoverageCore) -> bool:
    """Return whether the mutation changes gradients at any point."""
    engine = MutantCore(mutation)
    return any(not same_gradients(point, engine, right) for point in (points.own, *points.unseen))


def same_gradients(point: Point, engine: MutantCore, right: CoverageCore) -> bool:
    """Return whether both engines raise or leave the same gradients."""
    try:
        got = engine.evaluate(point.problem)
    except CRASHES:
        return False
    want = point.evaluation(right)
    if len(got.states) != len(want.states):
        return False
    for mine, theirs in zip(got.states, want.states, strict=True):
        if bool(mine.error) != bool(theirs.error):
            return False
        if not all(_is_same(mine.gradients.get(name), gradient) for name, gradient in theirs.gradients.items()):
            return False
    return True


def _is_same(got: np.ndarray | None, want: np.ndarray | None) -> bool:
    if got is None or want is None:
        return got is want
    if got.shape != want.shape or got.dtype != want.dtype:
        return False
    first, second = wide(got), wide(want)
    near = np.abs(first - second) <= _LAST_DIGITS * largest_finite(second)
    same = (got == want) | (np.isnan(first) & np.isnan(second)) | near
    return bool(same.all())


def formula_mutants(points: PointSet) -> Iterator[Mutant | None]:
    """Yield mutants of formulas and steps; None for an equivalent one."""
    for kind, where, mutated in _mutated_cases(points):
        caught_by = formula_mutant_caught_by(points, mutated)
        yield None if caught_by is None else Mutant(kind, where, caught_by)


def _mutated_cases(points: PointSet) -> Iterator[tuple[Fact, Fact, list[Case]]]:
    """Yield each mutation, its place, and a case for each claim it affects."""
    case = points.case
    for name, claims in case.formulas.items():
        for claim in claims:
            for kind, wrong in mutations_of(claim.expr, _factor(points, name)):
                where = fact("in_formula", tensor=name, formula=to_text(wrong))
                yield kind, where, [replace(case, formulas={name: (Claim.of(wrong),)}, checks=())]
    led_to = _cases_by_step(case)
    for name, claim in case.let.items() if case.formulas or case.checks else ():
        for kind, wrong in mutations_of(claim.expr, _factor(points, "")):
            where = fact("in_step", name=name, formula=to_text(wrong))
            yield kind, where, [replace(one, let={**one.let, name: Claim.of(wrong)}) for one in led_to[name]]


def _cases_by_step(case: Case) -> dict[str, list[Case]]:
    """Return, by step, a small case for each claim that uses it."""
    alone = [replace(case, formulas={n: (c,)}, checks=()) for n, listed in case.formulas.items() for c in listed]
    alone += [replace(case, formulas={}, checks=(check,)) for check in case.checks]
    found: dict[str, list[Case]] = {name: [] for name in case.let}
    for one in alone:
        (claim,) = (*one.checks, *(claim for listed in one.formulas.values() for claim in listed))
        steps = case.let_steps_of(claim.expr)
        for name in steps:
            found[name].append(replace(one, let={step: case.let[step] for step in steps}))
    return {name: sorted(cases, key=lambda one: len(one.let)) for name, cases in found.items()}


def _factor(points: PointSet, name: str) -> float:
    """Return the smallest visible factor in a tensor's formula; "" for a step."""
    gradient = points.own.want.states[-1].gradients.get(name)
    dtype = points.own.problem.dtype if gradient is None else gradient.dtype
    tolerance = claim_tolerance(points.case.tolerance, name, dtypes.real_of(dtype), points.tolerance)
    scale = largest_finite(gradient) if gradient is not None else 0.0
    return 1 + max(FACTOR, TOLERANCES * (tolerance.rtol + tolerance.atol / (scale or 1.0)))


def formula_mutant_caught_by(points: PointSet, mutated: Sequence[Case]) -> str | None:
    """Return formula, trial, proof or ""; None for an equivalent mutant."""
    if any(_fails(points, points.own, one) for one in mutated):
        return "formula"
    if any(_fails(points, point, one) for point in points.trials for one in mutated):
        return "trial"
    if not any(_fails(points, point, one) for point in points.unseen for one in mutated):
        return None
    return "proof" if any(_is_refuted(points.own.problem, one) for one in mutated) else ""


def _is_refuted(own: Problem, mutated: Case) -> bool:
    claims = [(name, claim) for name, listed in mutated.formulas.items() for claim in listed]
    return any(proof.status == "refuted" for proof in prove(replace(own, case=mutated), claims, own.seed))


def _fails(points: PointSet, point: Point, mutated: Case) -> bool:
    if not point.is_complete:
        return False
    claims = StepClaims(point.with_claims(mutated), point.last_step, points.tolerance)
    return any(c.status != "passed" for c in check_general(claims))


def smallest_errors(point: Point, run: StatedTolerance | None) -> dict[str, float]:
    """Return each tensor's smallest visible error; 0 for zero gradients."""
    found: dict[str, float] = {}
    case = point.problem.case
    for step, state in enumerate(point.want.states):
        for name, gradient in state.gradients.items():
            if gradient is None or not gradient.size:
                continue
            tolerance = engine_tolerance(gradient.dtype, case.engine_tolerance, run)
            slack = point.conditioning.allowance(ClaimKind.GRADIENT, step, name)
            smallest = _smallest(gradient, tolerance, slack)
            if smallest is not None:
                found[name] = min(smallest, found.get(name, smallest))
    return found


def _smallest(gradient: np.ndarray, tolerance: Tolerance, slack: np.ndarray | None) -> float | None:
    """Return the smallest visible error; None if no element is finite."""
    magnitude = np.abs(wide(gradient))
    finite = np.isfinite(magnitude)
    if not finite.any():
        return None
    if not magnitude[finite].any():
        return 0.0
    seen = finite & (magnitude > 0)
    fitting = slack if slack is not None and slack.shape == magnitude.shape else None
    allowed = tolerance.allowed(magnitude, fitting)
    return float(np.min(allowed[seen] / magnitude[seen]))
