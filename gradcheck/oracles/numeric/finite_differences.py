"""Directional derivatives by differences, with an error bar.

Steps shrink by a factor of four from an eighth of the tensor's own size; none is trusted. Each kind of difference
(central, from the right, from the left) fills a Richardson tableau; the entry that agrees best with its neighbours is
the derivative, and their disagreement is the error bar (Ridders, "Accurate computation of F'(x) and F'(x)F''(x)",
Advances in Engineering Software 4(2), 1982). Differences are taken element by element, before anything is added up, and
divided by the actual step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

#: Steps are `first * 4**-k` for k below this.
LEVELS = 15
_FACTOR = 4.0
#: A derivative this well known needs no finer steps.
_ENOUGH = 1e-13
#: So it is beside something larger, which is all that matters.
_ENOUGH_BESIDE = 1e-11
#: How much less well one-sided derivatives need be known, which are looked at for kinks and jumps alone.
_SIDES = 1e-7
#: One-sided derivatives that differ by less than this, relative to their size, are one.
_SAME = 1e-7
#: What is no jump but rounding, in units of it.
_JUMP = 1e4
#: From how many of the smallest steps noise is told.
_TAIL = 4
#: Further from what small steps agree on than so many times what these differ by is another number.
_ELSEWHERE = 16.0
#: A tableau's bar is a difference of two entries, either of which may be lucky.
_MARGIN = 4.0

#: `share(t)`: the terms of the sum where the tensor is moved by `t` times the direction, and the step really taken.
ShiftedTerms = Callable[[float], tuple[np.ndarray, float]]


class Tableau:
    """Richardson extrapolation to a step of 0, for an array of estimates.

    `power` is that of the first error term in the step, and the distance between powers: 2 for central differences.
    """

    def __init__(self, power: int | np.ndarray) -> None:
        self._weight = _FACTOR ** np.asarray(power)
        self.value = self.error = self.level = np.zeros(0)
        self._row: list[np.ndarray] = []
        self._estimates: list[np.ndarray] = []
        self._noise: list[np.ndarray] = []

    def add(self, estimate: np.ndarray, noise: np.ndarray) -> None:
        """Add estimates at the next smaller step; `noise` bounds their rounding."""
        if not self._estimates:
            self.value = np.full(estimate.shape, np.nan, dtype=estimate.dtype)
            self.error, self.level = np.full(estimate.shape, np.inf), np.zeros(estimate.shape)
        new, weight = [estimate], np.ones(())
        for j, above in enumerate(self._row):
            weight = weight * self._weight
            new.append(new[j] + (new[j] - above) / (weight - 1.0))
            error = np.maximum(np.abs(new[j + 1] - new[j]), np.abs(new[j + 1] - above))
            error = np.where(noise > error, noise, error)
            better = error < self.error  # never true of NaN
            self.value, self.error = np.where(better, new[j + 1], self.value), np.where(better, error, self.error)
            self.level = np.where(better, len(self._estimates), self.level)
        self._row = new
        self._estimates.append(estimate)
        self._noise.append(np.broadcast_to(noise, estimate.shape))

    def finish(self) -> None:
        """Raise error bars after the last level.

        Noise inside the function counts at the step of the value. If small steps agree on another number, the large
        steps crossed a kink.
        """
        if len(self._estimates) < LEVELS:
            return
        for k in range(LEVELS - _TAIL, LEVELS):
            noise = np.abs(self._estimates[k] - self._estimates[k - 1]) * _FACTOR ** (self.level - k)
            self.error = np.fmax(self.error, noise)
        tail = np.array(self._estimates[-_TAIL:])
        spread = np.abs(np.diff(tail, axis=0)).max(axis=0) + np.max(self._noise[-_TAIL:], axis=0)
        apart = np.abs(tail - self.value).min(axis=0)
        self.error = np.where(apart > _ELSEWHERE * spread, np.fmax(self.error, apart), self.error)


@dataclass(frozen=True, slots=True)
class Slope:
    """The derivative along one direction, with an absolute error bar.

    The error is infinite if nothing converged. `left` and `right` are the one-sided derivatives if they differ, else
    None; infinite if the function jumps.
    """

    value: float
    error: float
    left: float | None = None
    right: float | None = None

    @property
    def kinked(self) -> bool:
        """Whether there are only one-sided derivatives."""
        return self.left is not None

    @property
    def sides(self) -> tuple[float, float]:
        """The derivatives from the left and from the right."""
        return (self.value, self.value) if self.left is None or self.right is None else (self.left, self.right)


def slope(share: ShiftedTerms, first: float, unit: float, scale: float = 0.0) -> Slope:
    """Return the derivative at 0 of the sum of `share`'s terms.

    Steps start at `first`. `unit` is the relative rounding of the arithmetic. With a `scale`, the derivative is needed
    only relative to that, to about eleven digits.
    """
    at_rest, _ = share(0.0)
    size = _size(at_rest)
    tableau = Tableau(np.array([2, 1, 1]))  # central, from the left, from the right
    one_sided: list[np.ndarray] = []
    with np.errstate(all="ignore"):
        for level in range(LEVELS):
            step = first * _FACTOR**-level
            (ahead, forth), (behind, back) = share(step), share(-step)
            noise = unit * max(size, _size(ahead), _size(behind)) / (forth - back)
            central = _total(ahead, behind) / (forth - back)
            one_sided.append(np.array([_total(behind, at_rest) / back, _total(ahead, at_rest) / forth]))
            tableau.add(np.array([central, *one_sided[-1]]), np.asarray(noise))
            if _is_accurate_enough(tableau, scale):
                break
        tableau.finish()
        return _slope_of(tableau, one_sided, forth, unit * size)


def _is_accurate_enough(tableau: Tableau, scale: float) -> bool:
    value, (error, *sides) = abs(tableau.value[0]), tableau.error
    is_known = error <= max(_ENOUGH * value, _ENOUGH_BESIDE * scale) and max(sides) <= _ENOUGH / _SIDES * max(
        value, scale
    )
    return bool(is_known) and not _sides_differ(tableau)


def _slope_of(tableau: Tableau, one_sided: list[np.ndarray], step: float, rounding: float) -> Slope:
    """Return a kink, a jump, or one derivative.

    `step` is the last, `rounding` that of the sum.
    """
    value, left, right = tableau.value.tolist()
    error, left_error, right_error = tableau.error.tolist()
    behind, ahead = one_sided[-1]
    if _sides_differ(tableau) and abs(ahead - behind) >= 0.5 * abs(right - left):
        return Slope(value, _MARGIN * error, left, right)
    if np.any(_jumps(np.array(one_sided), step, _JUMP * rounding)):
        return Slope(value, np.inf, -np.inf, np.inf)
    gap = max(left_error, right_error) + 0.5 * abs(right - left)
    if gap < error:  # the second derivative jumps: central differences are the worse
        return Slope(0.5 * (left + right), _MARGIN * gap)
    return Slope(value, _MARGIN * error)


def _sides_differ(tableau: Tableau) -> bool:
    (_, left, right), (_, left_error, right_error) = tableau.value, tableau.error
    gap = abs(right - left)
    return bool(gap > _MARGIN * (left_error + right_error) + _SAME * max(abs(left), abs(right)))


def _jumps(one_sided: np.ndarray, step: float, least: float | np.ndarray) -> np.ndarray:
    """Return which one-sided differences grow as 1/step: a jump over `least`."""
    if len(one_sided) < LEVELS:
        return np.zeros(one_sided.shape[1], dtype=bool)
    growth = one_sided[-3:] / one_sided[-4:-1]
    grows = np.all(np.abs(growth - _FACTOR) < 0.01 * _FACTOR, axis=0)
    found: np.ndarray = grows & (np.abs(one_sided[-1] * step) > least)
    return found


def _total(ahead: np.ndarray, behind: np.ndarray) -> float:
    return float(np.sum((ahead - behind).real))


def _size(terms: np.ndarray) -> float:
    return float(np.sum(np.abs(terms)))


def array_derivative(
    function: Callable[[float], np.ndarray], first: float, unit: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the derivative at 0 of an array function, and its error bar.

    Central differences from the step `first`, a power of two. The bar is absolute, infinite if nothing converged.
    """
    tableau = Tableau(2)
    for level in range(LEVELS):
        step = first * _FACTOR**-level
        ahead, behind = function(step), function(-step)
        noise = unit * np.maximum(np.abs(ahead), np.abs(behind)) / step
        tableau.add((ahead - behind) / (2.0 * step), noise)
    tableau.finish()
    return tableau.value, _MARGIN * tableau.error


@dataclass(frozen=True, slots=True)
class Slopes:
    """Derivatives of many numbers along one direction, as arrays.

    `error` is absolute, infinite if nothing converged. `left` and `right` are the one-sided ones where `kinked`,
    infinite where the function jumps; else they equal `value`.
    """

    value: np.ndarray
    error: np.ndarray
    left: np.ndarray
    right: np.ndarray
    kinked: np.ndarray


def slopes(function: Callable[[float], np.ndarray], first: float, unit: float) -> Slopes:
    """Return the derivatives at 0 of an array function, and its kinks.

    `unit` is the relative rounding of elements.
    """
    tableaus = Tableau(2), Tableau(1), Tableau(1)  # central, from the left, from the right
    rest = function(0.0)
    one_sided: list[np.ndarray] = []
    with np.errstate(all="ignore"):
        for level in range(LEVELS):
            step = first * _FACTOR**-level
            ahead, behind = function(step), function(-step)
            noise = unit * np.maximum(np.abs(ahead), np.abs(behind)) / step
            found = (ahead - behind) / (2.0 * step), (rest - behind) / step, (ahead - rest) / step
            for tableau, estimate in zip(tableaus, found, strict=True):
                tableau.add(estimate, noise)
            one_sided.append(np.concatenate(found[1:]))
        for tableau in tableaus:
            tableau.finish()
        return _slopes_of(tableaus, one_sided, step, unit * np.abs(rest))


def _slopes_of(
    tableaus: tuple[Tableau, Tableau, Tableau], one_sided: list[np.ndarray], step: float, rounding: np.ndarray
) -> Slopes:
    central, left, right = tableaus
    gap, known = np.abs(right.value - left.value), left.error + right.error
    behind, ahead = np.split(one_sided[-1], 2)
    kinked = gap > _MARGIN * known + _SAME * np.maximum(np.abs(left.value), np.abs(right.value))
    kinked &= np.abs(ahead - behind) >= 0.5 * gap
    least = _JUMP * np.concatenate([rounding, rounding])
    jumps = np.logical_or(*np.split(_jumps(np.abs(np.array(one_sided)), step, least), 2))
    error = np.where(jumps, np.inf, _MARGIN * central.error)
    low, high = np.where(jumps, -np.inf, left.value), np.where(jumps, np.inf, right.value)
    kinked |= jumps
    return Slopes(
        central.value,
        error,
        np.where(kinked, low, central.value),
        np.where(kinked, high, central.value),
        kinked,
    )
