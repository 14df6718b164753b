"""Directional derivatives by differences, with an error bar: no step size is ever trusted.

Steps shrink by a factor of four from an eighth of the tensor's own size. Each kind of difference (central, from the
right, from the left) fills a Richardson tableau; the entry that agrees best with its neighbours is the derivative, and
how well it agrees is the error bar (Ridders, "Accurate computation of F'(x) and F'(x)F''(x)", 1982). Differences are
taken root by root, before anything is added up, and divided by the step that was really taken.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

#: Steps are `first * 4**-k` for k below this.
LEVELS = 15
_FACTOR = 4.0
#: A derivative this well known needs no finer steps.
_ENOUGH = 1e-13
#: How much less well one-sided derivatives need be known, which are looked at for kinks and jumps alone.
_SIDES = 1e-7
#: One-sided derivatives that differ by less than this, relative to their size, are one.
_SAME = 1e-7
#: What is no jump but rounding, in units of it.
_JUMP = 1e4
#: From how many of the smallest steps noise is told.
_TAIL = 4
#: A tableau's bar is a difference of two entries, either of which may be lucky.
_MARGIN = 4.0

#: `share(t)`: the terms of the sum where the tensor is moved by `t` times the direction, and the step really taken.
Share = Callable[[float], tuple[np.ndarray, float]]


@dataclass(slots=True)
class Tableau:
    """Richardson extrapolation to a step of 0. `power` is that of the first error term in the step, and the distance
    between powers."""

    power: int
    row: list[float] = field(default_factory=list)
    value: float = np.nan
    error: float = np.inf
    column: list[float] = field(default_factory=list)  # the estimates themselves
    level: int = 0  # at which the value was found

    def add(self, estimate: float, noise: float) -> None:
        """The estimate at the next smaller step, of which rounding alone may have spoilt `noise`."""
        new = [estimate]
        self.column.append(estimate)
        weight = 1.0
        for j, above in enumerate(self.row):
            weight *= _FACTOR**self.power
            new.append(new[j] + (new[j] - above) / (weight - 1.0))
            error = max(abs(new[j + 1] - new[j]), abs(new[j + 1] - above), noise)
            if error < self.error:  # never true of NaN
                self.value, self.error, self.level = new[j + 1], error, len(self.column) - 1
        self.row = new

    def settle(self) -> None:
        """After the last level, where nothing is left but noise inside the function: as much of it as at those steps
        may have spoilt the value, at its own step."""
        if len(self.column) < LEVELS:
            return
        last = range(LEVELS - _TAIL, LEVELS)
        noise = max(abs(self.column[k] - self.column[k - 1]) * _FACTOR ** (self.level - k) for k in last)
        self.error = max(self.error, noise)


@dataclass(frozen=True, slots=True)
class Slope:
    """The derivative along one direction; `error` is absolute, infinite where nothing converged.

    `left` and `right` are the one-sided derivatives where they differ, else None; infinite where the function jumps.
    """

    value: float
    error: float
    left: float | None = None
    right: float | None = None

    @property
    def kinked(self) -> bool:
        """Whether there is no derivative, but one from either side."""
        return self.left is not None


def slope(share: Share, first: float, unit: float) -> Slope:
    """The derivative of the sum of `share`'s terms at 0, from steps of `first` downwards. `unit` is the relative
    rounding of the arithmetic."""
    at_rest, _ = share(0.0)
    size = _size(at_rest)
    central, right, left = Tableau(2), Tableau(1), Tableau(1)
    jump = 0.0
    slides: list[tuple[float, float]] = []
    for level in range(LEVELS):
        step = first * _FACTOR**-level
        (ahead, forth), (behind, back) = share(step), share(-step)
        noise = unit * max(size, _size(ahead), _size(behind)) / (forth - back)
        rise, fall = _total(ahead, at_rest) / forth, _total(behind, at_rest) / back
        central.add(_total(ahead, behind) / (forth - back), noise)
        right.add(rise, noise)
        left.add(fall, noise)
        jump = rise - fall
        slides.append((rise, fall))
        sides = max(left.error, right.error)
        if max(central.error, sides * _SIDES) <= _ENOUGH * abs(central.value) and not _differ(left, right):
            break
    for tableau in (central, right, left):
        tableau.settle()
    if _differ(left, right) and abs(jump) >= 0.5 * abs(right.value - left.value):
        return Slope(central.value, _MARGIN * central.error, left.value, right.value)
    if any(_jumps([pair[side] for pair in slides], forth, _JUMP * unit * size) for side in (0, 1)):
        return Slope(central.value, np.inf, -np.inf, np.inf)
    return _best(central, left, right)


def _jumps(slides: list[float], step: float, least: float) -> bool:
    """Whether a one-sided difference grows as its step shrinks, for the function jumps by more than `least`."""
    if len(slides) < LEVELS or not abs(slides[-1] * step) > least:
        return False
    return all(abs(new / old - _FACTOR) < 0.01 * _FACTOR for old, new in zip(slides[-4:-1], slides[-3:], strict=True))


def _best(central: Tableau, left: Tableau, right: Tableau) -> Slope:
    """The central difference, or, where the second derivative jumps, the mean of the one-sided ones."""
    gap = max(left.error, right.error) + 0.5 * abs(right.value - left.value)
    if gap < central.error:
        return Slope(0.5 * (left.value + right.value), _MARGIN * gap)
    return Slope(central.value, _MARGIN * central.error)


def _differ(left: Tableau, right: Tableau) -> bool:
    gap = abs(right.value - left.value)
    return gap > _MARGIN * (left.error + right.error) + _SAME * max(abs(left.value), abs(right.value))


def _total(ahead: np.ndarray, behind: np.ndarray) -> float:
    return float(np.sum((ahead - behind).real))


def _size(terms: np.ndarray) -> float:
    return float(np.sum(np.abs(terms)))


def derivative(function: Callable[[float], np.ndarray], first: float, unit: float) -> tuple[np.ndarray, np.ndarray]:
    """The derivative at 0 of a function of a number whose value is an array, by central differences; and its error
    bar, absolute, infinite where nothing converged. `first` is the first step, a power of two."""
    at_rest = function(0.0)
    row: list[np.ndarray] = []
    value = np.full(at_rest.shape, np.nan, dtype=at_rest.dtype)
    error, found_at = np.full(at_rest.shape, np.inf), np.zeros(at_rest.shape)
    column: list[np.ndarray] = []
    for level in range(LEVELS):
        step = first * _FACTOR**-level
        ahead, behind = function(step), function(-step)
        noise = unit * np.maximum(np.abs(ahead), np.abs(behind)) / step
        new = [(ahead - behind) / (2.0 * step)]
        for j, above in enumerate(row):
            new.append(new[j] + (new[j] - above) / (_FACTOR ** (2 * (j + 1)) - 1.0))
            bar = np.maximum(np.maximum(np.abs(new[j + 1] - new[j]), np.abs(new[j + 1] - above)), noise)
            better = bar < error
            value, error = np.where(better, new[j + 1], value), np.where(better, bar, error)
            found_at = np.where(better, level, found_at)
        row = new
        column.append(new[0])
    for k in range(LEVELS - _TAIL, LEVELS):  # as in `Tableau.settle`
        error = np.maximum(error, np.abs(column[k] - column[k - 1]) * _FACTOR ** (found_at - k))
    return value, _MARGIN * error
