"""Searches along a path, for comparisons without slopes.

Rounded, truncated or composed numbers (`round(exp(x)) == 40`, `x.int() == 7`, `x * x == 2.25`) have no slope, or a
misleading one. All numbers grow along a path, or some move; an interval is halved if one end is on the side, or a
margin changes its sign.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice, pairwise

import numpy as np

from gradcheck.checks.branches.branch_sites import Margin
from gradcheck.checks.branches.search_targets import Goal, are_goals_met
from gradcheck.checks.branches.search_variables import SearchVariable

Arrays = Mapping[SearchVariable, np.ndarray]
#: The numbers at a place of a path, moved ones rounded to multiples of 1/grid unless that is 0.
Path = Callable[[float, int], Arrays]
#: The goals' margins at a place of a path, of which only the signs matter; none if one has none.
MarginsAt = Callable[..., Sequence[Margin]]

_OUTWARDS = (0.001, 0.1, 0.3, 0.6, 1.0, 1.5, 2.0, 3.0, 5.0, 8.0, 12.0, 20.0, 40.0, 100.0, 1000.0)
_PLACES = (*(-place for place in reversed(_OUTWARDS)), 0.0, *_OUTWARDS)
#: Halvings towards an edge, and the most towards a zero; when round numbers are tried; and the most crossings.
_TO_EDGE, _TO_ZERO, _ROUND_AT, _CROSSINGS = 12, 50, (6, 14), 3
#: Shares of the way from a zero at which others are tried.
_INSIDE = (0.9, 0.7, 0.5, 0.3, 0.2, 0.1, 0.05, 0.02)
#: Round numbers are multiples of one over these.
_GRIDS = (1, 2, 4, 8, 16, 10, 100, 1000)


def search_paths(goals: Sequence[Goal], paths: Iterable[Path], look: MarginsAt) -> Arrays | None:
    """Return numbers on one of the paths that meet all goals, or None."""
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
