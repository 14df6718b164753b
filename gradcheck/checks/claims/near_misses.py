"""Find formulas off by more than rounding explains, but within tolerance.

The exact oracle neither proves nor refutes `1.00000000001 * exp(x)`, and it is within every tolerance. But rounding
of each element can be measured, and engines that agree much better with each other than with the formula are evidence
against it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gradcheck.autograd.dtypes import HALVES
from gradcheck.checks.claims.formulas import difference_of, formula_allowance
from gradcheck.checks.closeness.rough_rounding import sure_allowance
from gradcheck.checks.context import Context
from gradcheck.checks.points.degenerate import is_usable
from gradcheck.checks.points.point import Point
from gradcheck.errors import GradcheckError
from gradcheck.facts import Fact, fact
from gradcheck.language.case import Claim

#: In double precision: the smallest relative error, how many times it must exceed rounding and the engines'
#: differences, at how many points, and of how many points at most.
_VISIBLE, _TIMES, _POINTS, _MOST = 5e-14, 16.0, 2, 6
#: In lower precision: the smallest relative error in double precision, and the most points.
_VISIBLE_THERE, _MOST_THERE = 1e-3, 24
#: The number of points that are used here only.
_UNKEPT = 1_000


def near_miss(context: Context, name: str, claim: Claim) -> Fact | None:
    """Return by how much of itself the formula is off; None for rounding."""
    if context.case.dtype != "float64":
        return _in_double_precision(context, name, claim)
    points = [point for point in (context.points.own, *context.points.trials) if point.is_complete][:_MOST]
    own = context.points.own.problem  # of large numbers, as `cos(1e-7 * x)` differs more from 1 there
    large = (context.points.point_of_sizes(own.sizes, _UNKEPT, attempt, "huge") for attempt in (1, 3))
    points += filter(is_usable, large)
    found: list[tuple[float, float]] = []
    for point in points:
        found += _worst_unexplained(context, point, name, claim)
        if len(found) >= min(_POINTS, len(points)):
            part, times = max(found)
            return fact("beyond_rounding", part=part, times=times)
    return None


def _in_double_precision(context: Context, name: str, claim: Claim) -> Fact | None:
    """Return what a low-precision formula is off by in double precision.

    Roundings of the case's own dtype may hide that. Kink points are left out, as conventions differ there."""
    kinks = {id(point) for point in context.points.kink_points}
    difference = difference_of(name, claim)
    for point in [p for p in context.points.other_points if p.is_complete and id(p) not in kinks][:_MOST_THERE]:
        if point.problem.dtype.kind != "f" and point.problem.dtype not in HALVES:
            return None
        precise = point.conditioning.in_double_precision()
        off, want = precise.unrounded_difference(point.last_step, difference), precise.gradient(point.last_step, name)
        if off is None or want is None or off.shape != want.shape or not np.isfinite(off).all():
            continue
        far = np.abs(off) > _VISIBLE_THERE * np.abs(want)
        if not far.any() or not (want != 0)[far].all():
            continue
        moves = precise.claim_allowances(point.last_step, difference)
        if not moves or moves[0] is None or moves[0].shape != off.shape:
            continue
        beyond = far & (moves[0] > 0) & (np.abs(off) > _TIMES * moves[0])
        if beyond.any():
            worst = np.unravel_index(np.argmax(np.where(beyond, np.abs(off / want), 0)), off.shape)
            return fact("off_in_double_precision", part=float(np.abs(off[worst] / want[worst])))
    return None


def _worst_unexplained(context: Context, point: Point, name: str, claim: Claim) -> Iterator[tuple[float, float]]:
    """Yield the worst element that rounding does not explain, if any."""
    scope = point.scope(point.last_step)
    want = scope.gradients.get(name)
    try:
        got = scope.array_of(claim.expr)
    except GradcheckError:
        return
    if want is None or got.shape != want.shape or got.dtype.kind != "f" or not np.isfinite(got).all():
        return
    off = np.abs(got - want)
    visible = off > _VISIBLE * np.abs(want)
    if not visible.any():
        return
    between = _between_engines(context, point, name, want)
    suspected = visible & (off > _TIMES * between)
    if not suspected.any() or _is_surely_rounding(point, name, claim, off[suspected], suspected):
        return
    moves = formula_allowance(point, point.last_step, name, claim)
    if moves is None or moves.shape != off.shape:
        return
    explains = np.maximum(moves, between)
    beyond = visible & (moves > 0) & (off > _TIMES * explains) & (want != 0)
    if beyond.any():
        worst = np.unravel_index(np.argmax(np.where(beyond, off / np.maximum(explains, 1e-300), 0)), off.shape)
        yield float(off[worst] / np.abs(want[worst])), float(off[worst] / explains[worst])


def _is_surely_rounding(point: Point, name: str, claim: Claim, off: np.ndarray, where: np.ndarray) -> bool:
    """Return whether two runs show that rounding explains the elements."""
    noise = point.conditioning.rough_rounding.noise_of_claim(point.last_step, difference_of(name, claim))
    if noise is None or noise.shape != where.shape:
        return False
    allowed = _TIMES * sure_allowance(noise, point.conditioning.limit)
    return bool((off <= allowed[where]).all())


def _between_engines(context: Context, point: Point, name: str, want: np.ndarray) -> np.ndarray:
    """Return the engines' largest difference; infinite without another one."""
    apart = np.full(want.shape, -1.0)
    for engine in context.engines.tested:
        states = point.evaluation(engine).states
        gradient = states[point.last_step].gradients.get(name) if point.last_step < len(states) else None
        if gradient is not None and gradient.shape == want.shape:
            apart = np.maximum(apart, np.abs(gradient - want))
    return np.where(apart < 0, np.inf, apart)
