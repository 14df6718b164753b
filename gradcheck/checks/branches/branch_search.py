"""The search for numbers on the other side of a branch.

The moving numbers follow the gradient of the comparison's margin until some elements are a little beyond the
threshold and others far beyond: Gauss-Newton steps with Polyak's length ("Introduction to Optimization", 1987,
section 5.3).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import islice, pairwise
from typing import Any

import numpy as np

from gradcheck.autograd.backward import backward
from gradcheck.autograd.dtypes import wide
from gradcheck.autograd.modes import quiet
from gradcheck.autograd.tensor import Tensor
from gradcheck.checks.branches.branch_sites import (
    BranchSite,
    Goal,
    Margin,
    SearchBudget,
    SearchTargets,
    are_goals_met,
    select_margins,
)
from gradcheck.checks.branches.search_variables import GRID, SearchSpace, SearchVariable
from gradcheck.language.problem import Problem
from gradcheck.language.random_streams import stream

#: Steps of one search, and how many of them may come no nearer.
_STEPS, _PATIENCE = 16, 2
#: A step that leads this many times further off is halved.
_TOO_FAR = 4.0
#: How far beyond a threshold elements are pushed, in turn, as shares of the compared numbers. The last is tried last.
_OFFSETS = ((0.05, 3.0, 0.002), (0.05,), (1e-6,))
#: The distance of gathered numbers, as a part of what it was.
_GATHERED = 0.01
#: The most numbers of a problem whose margins are kept for other goals.
_FEW = 256

Arrays = dict[SearchVariable, np.ndarray]
#: The numbers at a place of a path, moved ones rounded to multiples of 1/grid unless that is 0.
Path = Callable[[float, int], Arrays]
#: The goals' margins at a place of a path, of which only the signs matter; none if one has none.
MarginsAt = Callable[..., Sequence[Margin]]

_OUTWARDS = (0.001, 0.1, 0.3, 0.6, 1.0, 1.5, 2.0, 3.0, 5.0, 8.0, 12.0, 20.0, 40.0, 100.0, 1000.0, 1e9)
_PLACES = (*(-place for place in reversed(_OUTWARDS)), 0.0, *_OUTWARDS)
#: Halvings towards an edge, and the most towards a zero; when round numbers are tried; and the most crossings.
_TO_EDGE, _TO_ZERO, _ROUND_AT, _CROSSINGS = 12, 50, (6, 14), 3
#: Shares of the way from a zero at which others are tried.
_INSIDE = (0.9, 0.7, 0.5, 0.3, 0.2, 0.1, 0.05, 0.02)
#: Round numbers are multiples of one over these.
_GRIDS = (1, 2, 4, 8, 16, 10, 100, 1000)


class BranchSearch:
    """Searches from one problem's numbers; claims may name `gradients`."""

    def __init__(self, problem: Problem, gradients: Mapping[str, Any], budget: SearchBudget | None = None) -> None:
        self._space = SearchSpace(problem, gradients, budget)
        self._kept: dict[tuple[frozenset[str], Path, float], dict[BranchSite, Margin]] = {}
        self._moving, self._half = self._space.moving, 0

    def find(self, *goals: Goal, half: int = 0) -> Problem | None:
        """Return the problem with numbers on the goals' sides, or None.

        Args:
                goals: comparisons and sides. Margins of one shape must be on their sides in the same element.
                half: 1 or 2 moves one half of the numbers or the other, 0 all.
        """
        self._half = half
        if not self._space.can_be_searched:
            return None
        is_beyond = any(site.sign_of(side) for site, side in goals)  # margins that are all to be 0 have one offset
        aims = _OFFSETS if is_beyond else _OFFSETS[:1]
        found = next((found for beyond in aims if (found := self._descend(goals, beyond)) is not None), None)
        return found if found is not None or not is_beyond else self._search_incoming(goals)

    def find_on_paths(self, *goals: Goal) -> Problem | None:
        """Search without slopes, on paths on which numbers grow or move."""
        if not self._space.can_be_searched:
            return None
        owners = frozenset(site.owner for site, _ in goals)

        def look(path: Path, place: float, grid: int = 0) -> list[Margin]:
            if (met := self._kept.get((owners, path, place))) is None or grid:
                met = self._space.margins_of(owners, path(place, grid))[1]
                if self._space.size <= _FEW and not grid:
                    self._kept[owners, path, place] = met
            return select_margins(goals, met)

        found = search_paths(goals, self._paths, look)
        return None if found is None else self._space.problem_with(self._space.margins_of(owners, found)[0], found)

    @cached_property
    def _paths(self) -> list[Path]:
        """The paths: leaves grow, some move, all tilt or gather, cotangents grow."""

        def move(array: np.ndarray, place: float) -> np.ndarray:
            return np.asarray(array + place * (np.arange(array.size) % 2 == 0).reshape(array.shape))

        def tilt(array: np.ndarray, place: float) -> np.ndarray:
            return np.asarray(array + place * np.linspace(1, -1, array.size).reshape(array.shape))

        def gather(array: np.ndarray, place: float) -> np.ndarray:
            return np.asarray(place + _GATHERED * array)

        changes = ((False, np.multiply), (False, move), (False, tilt), (False, gather), (True, np.multiply))
        return [partial(self._arrays_on_path, is_incoming=is_one, change=change) for is_one, change in changes]

    def _arrays_on_path(
        self, place: float, grid: int, is_incoming: bool, change: Callable[[np.ndarray, float], np.ndarray]
    ) -> Arrays:
        """Return the numbers at a place, rounded to multiples of 1/grid if not 0."""

        def changed(variable: SearchVariable, array: np.ndarray) -> np.ndarray:
            if variable not in self._moving or variable.is_incoming != is_incoming:
                return array
            moved = change(array, place)
            return self._space.clipped(variable, np.rint(moved * grid) / grid if grid else moved).astype(array.dtype)

        return {variable: changed(variable, array) for variable, array in self._space.start.items()}

    def _search_incoming(self, goals: Sequence[Goal]) -> Problem | None:
        """Search with incoming gradients alone: claims are linear in them."""
        moving = self._moving
        self._moving = {variable for variable in moving if variable.is_incoming}
        try:
            return self._descend(goals, _OFFSETS[1]) if self._moving and self._moving != moving else None
        finally:
            self._moving = moving

    def _descend(self, goals: Sequence[Goal], beyond: Sequence[float]) -> Problem | None:
        arrays, aims = dict(self._space.start), SearchTargets(self._space.problem.seed, goals, beyond)
        found: Problem | None = None
        stuck, before, last = 0, np.inf, arrays
        for _ in range(_STEPS):
            tensors = self._moving_tensors(arrays)
            leaves, met = self._space.leaves_and_margins(goals, tensors)
            if not met:
                break
            residuals = aims.residuals(met)
            if are_goals_met(goals, met):
                found = self._space.problem_with(leaves, arrays)
            left = float(np.sqrt(sum(np.sum(residual**2) for residual in residuals)))
            is_finite = left or all(np.isfinite(margin.numbers).all() for margin in met)
            if arrays is not last and (left > _TOO_FAR * before or not is_finite):
                arrays = {variable: _halfway(last[variable], array) for variable, array in arrays.items()}
                continue
            stuck, before, last = stuck + (left > 0.9 * before), left, arrays
            moving = [(m.difference, r) for m, r in zip(met, residuals, strict=True) if _has_slope(m.difference)]
            if (found is not None and aims.are_reached(residuals)) or not left or stuck == _PATIENCE or not moving:
                break
            arrays = self._take_step(tensors, moving)
        return found or self._search_exact_zero(goals, arrays)

    def _moving_tensors(self, arrays: Mapping[SearchVariable, np.ndarray]) -> dict[SearchVariable, Tensor]:
        tensors = {variable: Tensor.wrap(array) for variable, array in arrays.items()}
        for variable, tensor in tensors.items():
            tensor.requires_grad = variable in self._moving
        return tensors

    def _take_step(
        self, tensors: Mapping[SearchVariable, Tensor], moving: Sequence[tuple[Tensor, np.ndarray]]
    ) -> Arrays:
        with quiet():
            backward([margin for margin, _ in moving], [residual.astype(margin.dtype) for margin, residual in moving])
        slopes = {v: self._mask_half(v, _finite_gradient(tensor.grad)) for v, tensor in tensors.items()}
        square = sum(float(np.sum(np.abs(wide(slope)) ** 2)) for slope in slopes.values() if slope is not None)
        length = sum(float(np.sum(residual**2)) for _, residual in moving) / square if square > 0 else 0.0
        return {
            v: tensor.data
            if (slope := slopes[v]) is None
            else self._space.clipped(v, tensor.data - length * slope).astype(tensor.data.dtype)
            for v, tensor in tensors.items()
        }

    def _mask_half(self, variable: SearchVariable, slope: np.ndarray | None) -> np.ndarray | None:
        """Return the slope, 0 for the half that stays."""
        if slope is None or not self._half or not slope.ndim:
            return slope
        first = stream(self._space.problem.seed, "half", variable.name, variable.number).random(slope.shape) < 0.5
        return np.where(first if self._half == 1 else ~first, slope, 0)

    def _search_exact_zero(self, goals: Sequence[Goal], arrays: Mapping[SearchVariable, np.ndarray]) -> Problem | None:
        """Make a margin of one number exactly 0, on a grid of exact sums."""
        if len(goals) > 1 or goals[0][0].sign_of(goals[0][1]):
            return None
        arrays = {
            v: self._space.clipped(v, np.rint(a * GRID) / GRID) if v in self._moving else a for v, a in arrays.items()
        }
        for _ in range(2):
            tensors = self._moving_tensors(arrays)
            leaves, met = self._space.leaves_and_margins(goals, tensors)
            if not met or met[0].numbers.size != 1 or not _has_slope(met[0].difference):
                return None
            if are_goals_met(goals, met):
                return self._space.problem_with(leaves, arrays)
            with quiet():
                backward([met[0].difference], [np.ones(met[0].numbers.shape)])
            slopes = {variable: _finite_gradient(tensors[variable].grad) for variable in self._moving}
            steepest = max(
                slopes, key=lambda v: float(np.abs(s).max()) if (s := slopes[v]) is not None and s.size else 0.0
            )
            slope = slopes[steepest]
            if slope is None or not np.any(slope):
                return None
            at = int(np.argmax(np.abs(slope)))
            moved = arrays[steepest].copy()
            moved.flat[at] -= met[0].numbers.item() * slope.flat[at] / abs(slope.flat[at]) ** 2
            arrays = {**arrays, steepest: self._space.clipped(steepest, moved)}
        return None


def _halfway(last: np.ndarray, array: np.ndarray) -> np.ndarray:
    """Return to half of a step that led too far along a curve like `exp(x)`."""
    return array if array.dtype.kind not in "fc" else np.asarray(last + 0.5 * (array - last), array.dtype)


def _has_slope(difference: Any) -> bool:
    return isinstance(difference, Tensor) and difference.requires_grad


def _finite_gradient(gradient: Tensor | None) -> np.ndarray | None:
    return None if gradient is None else np.asarray(np.where(np.isfinite(gradient.data), gradient.data, 0))


def search_paths(goals: Sequence[Goal], paths: Iterable[Path], look: MarginsAt) -> Arrays | None:
    """Return numbers on one of the paths that meet all goals, or None.

    Rounded, truncated or composed numbers (`round(exp(x)) == 40`, `x.int() == 7`, `x * x == 2.25`) have no slope, or a
    misleading one. All numbers grow along a path, or some move; an interval is halved if one end is on the side, or a
    margin changes its sign."""
    walks = (_PathSearch(goals, path, look) for path in paths)
    return next((found for walk in walks if (found := walk.find()) is not None), None)


class _PathSearch:
    def __init__(self, goals: Sequence[Goal], path: Path, look: MarginsAt) -> None:
        self._goals, self._path = goals, path
        self._margins_at: Callable[..., Sequence[Margin]] = partial(look, path)

    def find(self) -> Arrays | None:
        met = [(place, self._margins_at(place)) for place in _PLACES]
        steps = sorted(pairwise(met), key=lambda step: abs(abs(step[0][0] + step[1][0]) / 2 - 1))
        for (one, here), (other, there) in steps:
            if self._is_on(here) != self._is_on(there):
                return self._bisect_edge(*((one, other) if self._is_on(there) else (other, one)))
        crossings = islice(self._crossings(steps), _CROSSINGS)
        return next((found for crossing in crossings if (found := self._bisect_zero(*crossing)) is not None), None)

    def _is_on(self, met: Sequence[Margin]) -> bool:
        return bool(met) and are_goals_met(self._goals, met)

    def _bisect_edge(self, off: float, on: float) -> Arrays:
        """Return numbers on the side, near to its edge."""
        for _ in range(_TO_EDGE):
            middle = (off + on) / 2
            off, on = (off, middle) if self._is_on(self._margins_at(middle)) else (middle, on)
        return self._path(on, 0)

    def _crossings(
        self, steps: Sequence[tuple[tuple[float, Sequence[Margin]], tuple[float, Sequence[Margin]]]]
    ) -> Iterator[tuple[float, float, int, int, float]]:
        """Yield places between which a margin's sign changes, and from which."""
        exact = [number for number, (site, side) in enumerate(self._goals) if site.sign_of(side) == 0]
        for (one, here), (other, there) in steps:
            for number in exact if here and there else ():
                a, b = here[number].numbers.ravel(), there[number].numbers.ravel()
                if a.shape == b.shape and np.any(changed := np.sign(a) * np.sign(b) < 0):
                    yield one, other, number, (at := int(np.argmax(changed))), float(np.sign(a[at]))

    def _bisect_zero(self, one: float, other: float, number: int, element: int, sign: float) -> Arrays | None:
        for step in range(_TO_ZERO):
            middle = (one + other) / 2
            met = self._margins_at(middle)
            if self._is_on(met):
                return self._path(middle, 0)
            if met and len(self._goals) > 1 and met[number].numbers.flat[element] == 0:
                return self._find_inside(one, middle, other)
            if step in _ROUND_AT and (found := self._try_round_numbers(middle)) is not None:
                return found
            at = met[number].numbers.flat[element] if met else np.nan
            if not np.isfinite(at) or middle in (one, other):
                return None
            one, other = (middle, other) if np.sign(at) == sign else (one, middle)
        return None

    def _find_inside(self, one: float, middle: float, other: float) -> Arrays | None:
        """Search around a place at which one margin is 0."""
        places = (middle + share * (end - middle) for end in (one, other) for share in _INSIDE)
        return next((self._path(p, 0) for p in places if self._is_on(self._margins_at(p))), None)

    def _try_round_numbers(self, place: float) -> Arrays | None:
        return next((self._path(place, grid) for grid in _GRIDS if self._is_on(self._margins_at(place, grid))), None)
