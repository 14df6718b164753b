"""Directional derivatives by differences, with an error bar.

Steps shrink by a factor of four from an eighth of the tensor's own size; none is trusted. Each kind of difference
(central, from the right, from the left) fills a Richardson tableau; the entry that agrees best with its neighbours is
the derivative, and their disagreement is the error bar (Ridders, "Accurate computation of F'(x) and F'(x)F''(x)",
Advances in Engineering Software 4(2), 1982). Differences are taken element by element, before anything is added up, and
divided by the actual step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from gradcheck.facts import Fact

#: Steps are `first * 4**-k` for k below this.
LEVELS = 15
_FACTOR = 4.0
#: The relative error below which no finer steps are taken.
_ENOUGH = 1e-13
#: The same error relative to a larger scale.
_ENOUGH_BESIDE = 1e-11
#: The smallest number of full precision; a smaller difference may have become zero.
SMALLEST = float(np.finfo(np.float64).tiny)
#: An error bar below this is that of numbers too small for a float64, not of a computation.
UNDERFLOW = 1e-200
#: The relative error bar below which a derivative decides between a number and none.
VAGUE = 1e-3
#: The precision of one-sided derivatives, which only show kinks and jumps.
_SIDES = 1e-7
#: The relative difference below which one-sided derivatives are equal.
_SAME = 1e-7
#: The largest step of a function that is rounding, in units of it.
_JUMP = 1e4
#: The change between the two smallest steps, relative to the function, above which it oscillates in between.
_UNRESOLVED = 1e-3
#: How many of the smallest steps show the noise.
_TAIL = 4
#: The distance from the small steps' value, in units of their spread, at which a value is wrong.
_ELSEWHERE = 16.0
#: The factor on a bar, which is a difference of two entries that may agree by luck.
_MARGIN = 4.0

#: The powers of the first error terms of differences: central, from the left, from the right.
_KINDS = np.array([2, 1, 1])

Method = Literal["complex step", "differences", "high precision"]
#: `share(t)`: the terms of the sum with the tensor moved by `t` times the direction, and the actual step.
ShiftedTerms = Callable[[float], tuple[np.ndarray, float]]
#: Differences with this step, and their noise.
Differences = Callable[[float], tuple[np.ndarray, np.ndarray]]


class Tableau:
    """Richardson extrapolation to a step of 0, for an array of estimates."""

    # `power` is that of the first error term in the step, and the distance between powers

    def __init__(self, power: int | np.ndarray) -> None:
        self._weight = _FACTOR ** np.asarray(power)
        self.value: np.ndarray = np.zeros(0)
        self.error = self.level = self.value
        self._row: list[np.ndarray] = []
        self.estimates: list[np.ndarray] = []
        self._noise: list[np.ndarray] = []

    def add(self, estimate: np.ndarray, noise: np.ndarray) -> None:
        """Add estimates at the next smaller step; `noise` bounds their rounding."""
        if not self.estimates:
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
            self.level = np.where(better, len(self.estimates), self.level)
        self._row = new
        self.estimates.append(estimate)
        self._noise.append(np.broadcast_to(noise, estimate.shape))

    def finish(self) -> None:
        """Raise error bars after the last level.

        Noise inside the function counts at the step of the value. If small steps agree on another number, the large
        steps crossed a kink.
        """
        if len(self.estimates) < LEVELS:
            return
        for k in range(LEVELS - _TAIL, LEVELS):
            noise = np.abs(self.estimates[k] - self.estimates[k - 1]) * _FACTOR ** (self.level - k)
            self.error = np.fmax(self.error, noise)
        tail = np.array(self.estimates[-_TAIL:])
        spread = np.abs(np.diff(tail, axis=0)).max(axis=0) + np.max(self._noise[-_TAIL:], axis=0)
        apart = np.abs(tail - self.value).min(axis=0)
        self.error = np.where(apart > _ELSEWHERE * spread, np.fmax(self.error, apart), self.error)


@dataclass(frozen=True, slots=True)
class Estimate:
    """Derivatives by the numeric oracle, with absolute error bars.

    A bar is infinite if nothing converged. Where `kinked`, there is no derivative: `left` and `right` are the one-sided
    ones, infinite where the function jumps; else both equal `value`.
    """

    value: np.ndarray
    error: np.ndarray
    left: np.ndarray
    right: np.ndarray
    kinked: np.ndarray
    method: Method = "differences"
    no_complex_step_reason: Fact | None = None

    def where(self, chosen: np.ndarray) -> Estimate:
        """Return the estimate of these entries."""
        names = ("value", "error", "left", "right", "kinked")
        return replace(self, **{name: getattr(self, name)[chosen] for name in names})


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
        """True if there are only one-sided derivatives."""
        return self.left is not None

    @property
    def sides(self) -> tuple[float, float]:
        """The derivatives from the left and from the right."""
        return (self.value, self.value) if self.left is None or self.right is None else (self.left, self.right)


def is_vague(value: np.ndarray, error: np.ndarray | float) -> np.ndarray:
    """Return where a bar is too wide to decide between a number and none.

    Any number is within a wide bar, and no infinity."""
    narrow: np.ndarray = error <= np.maximum(VAGUE * np.abs(value), 1.0)
    return ~narrow


def _extrapolate(
    differences: Differences,
    first: float,
    power: int | np.ndarray,
    is_enough: Callable[[Tableau], bool] = lambda _: False,
) -> Tableau:
    """Fill a tableau with differences, and their noise, at shrinking steps."""
    tableau = Tableau(power)
    with np.errstate(all="ignore"):
        for level in range(LEVELS):
            tableau.add(*differences(first * _FACTOR**-level))
            if is_enough(tableau):
                break
        tableau.finish()
    return tableau


def slope(share: ShiftedTerms, first: float, unit: float, scale: float = 0.0) -> Slope:
    """Return the derivative at 0 of the sum of `share`'s terms.

    Steps start at `first`. `unit` is the relative rounding of the arithmetic. With a `scale`, the derivative is needed
    only relative to that, to about eleven digits.
    """
    at_rest, _ = share(0.0)
    size, step, largest = _size(at_rest), first, 0.0

    def differences(wanted: float) -> tuple[np.ndarray, np.ndarray]:
        nonlocal step, largest
        (ahead, step), (behind, back) = share(wanted), share(-wanted)
        width = np.float64(step - back)  # may be 0 between numbers of very different size, which is no error of Python
        largest = max(size, _size(ahead), _size(behind))
        noise = (unit * largest + SMALLEST) / width
        central = _total(ahead, behind) / width
        sides = _total(behind, at_rest) / np.float64(back), _total(ahead, at_rest) / np.float64(step)
        return np.array([central, *sides]), np.asarray(noise)

    tableau = _extrapolate(differences, first, _KINDS, lambda found: _is_accurate_enough(found, scale))
    with np.errstate(all="ignore"):
        found = _slope_of(tableau, step, unit * size)
        return replace(found, error=np.inf) if _is_unresolved(tableau, step, largest) else found


def one_sided_slopes(share: ShiftedTerms, first: float, unit: float) -> tuple[float, float]:
    """Return the derivatives at 0 from the left and from the right.

    NaN on a side where nothing converges: the function is undefined there, or infinitely steep."""
    at_rest, _ = share(0.0)
    size = _size(at_rest)

    def derivative(sign: float) -> float:
        def differences(wanted: float) -> tuple[np.ndarray, np.ndarray]:
            there, step = share(sign * wanted)
            noise = unit * max(size, _size(there)) / abs(step)
            return np.array([_total(there, at_rest) / np.float64(step)]), np.asarray(noise)

        tableau = _extrapolate(differences, first, 1)
        (value,), (error,) = tableau.value.tolist(), tableau.error.tolist()
        if abs(value) <= _MARGIN * error <= _SAME * size / first:
            return 0.0
        return value if error <= _SIDES * max(abs(value), size / first, 1e-300) else np.nan

    return derivative(-1.0), derivative(1.0)


def _is_accurate_enough(tableau: Tableau, scale: float) -> bool:
    value, (error, *sides) = abs(tableau.value[0]), tableau.error
    is_known = error <= max(_ENOUGH * value, _ENOUGH_BESIDE * scale, UNDERFLOW) and max(sides) <= max(
        _ENOUGH / _SIDES * max(value, scale), UNDERFLOW
    )
    return bool(is_known) and not _sides_differ(tableau)


def _slope_of(tableau: Tableau, step: float, rounding: float) -> Slope:
    """Return a kink, a jump, or one derivative."""
    value, left, right = tableau.value.tolist()
    error, left_error, right_error = tableau.error.tolist()
    _, behind, ahead = tableau.estimates[-1]
    if _sides_differ(tableau) and abs(ahead - behind) >= 0.5 * abs(right - left):
        return Slope(value, _MARGIN * error, left, right)
    if np.any(_jumps(np.array(tableau.estimates)[:, 1:], step, _JUMP * rounding)):
        return Slope(value, np.inf, -np.inf, np.inf)
    gap = max(left_error, right_error) + 0.5 * abs(right - left)
    if gap < error:  # the second derivative jumps: central differences are the worse
        return Slope(0.5 * (left + right), _MARGIN * gap)
    return Slope(value, _MARGIN * error)


def _is_unresolved(tableau: Tableau, step: float, size: float) -> bool:
    """Return whether the function changes a lot within the smallest step.

    `sin(x)` at 1e12 does: its differences look like those of noise around a constant."""
    if len(tableau.estimates) < LEVELS:
        return False
    last, before = tableau.estimates[-1][0], tableau.estimates[-2][0]
    return bool(abs(last - before) * step > _UNRESOLVED * size)


def _sides_differ(tableau: Tableau) -> bool:
    (_, left, right), (_, left_error, right_error) = tableau.value, tableau.error
    gap = abs(right - left)
    return bool(gap > _MARGIN * (left_error + right_error) + _SAME * max(abs(left), abs(right)))


def _jumps(one_sided: np.ndarray, step: float, least: float | np.ndarray) -> np.ndarray:
    """Return which one-sided differences grow as 1/step: a jump over `least`."""
    if len(one_sided) < LEVELS:
        return np.zeros(one_sided.shape[1:], dtype=bool)
    growth = one_sided[-3:] / one_sided[-4:-1]
    grows = np.all(np.abs(growth - _FACTOR) < 0.01 * _FACTOR, axis=0)
    found: np.ndarray = grows & (np.abs(one_sided[-1] * step) > least)
    return found


def _total(ahead: np.ndarray, behind: np.ndarray) -> float:
    return float(np.sum((ahead - behind).real))


def _size(terms: np.ndarray) -> float:
    return float(np.sum(np.abs(terms)))


def array_derivative(
    function: Callable[[float], np.ndarray], first: float, unit: float, enough: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Return the derivative at 0 of an array function, and its error bar.

    Central differences from the step `first`, a power of two. The bar is absolute, infinite if nothing converged. No
    finer steps are taken once all errors are below `enough` times the largest element.
    """

    def differences(step: float) -> tuple[np.ndarray, np.ndarray]:
        ahead, behind = function(step), function(-step)
        return (ahead - behind) / (2.0 * step), unit * np.maximum(np.abs(ahead), np.abs(behind)) / step

    def is_enough(so_far: Tableau) -> bool:
        return bool(np.all(so_far.error <= enough * np.max(np.abs(so_far.value), initial=0)))

    tableau = _extrapolate(differences, first, 2, is_enough)
    return tableau.value, _MARGIN * tableau.error


def slopes(function: Callable[[float], np.ndarray], first: float, unit: float) -> Estimate:
    """Return the derivatives at 0 of an array function, and its kinks.

    `unit` is the relative rounding of elements.
    """
    rest, last = function(0.0), first * _FACTOR ** (1 - LEVELS)

    def differences(step: float) -> tuple[np.ndarray, np.ndarray]:
        ahead, behind = function(step), function(-step)
        noise = unit * np.maximum(np.abs(ahead), np.abs(behind)) / step
        return np.array([(ahead - behind) / (2.0 * step), (rest - behind) / step, (ahead - rest) / step]), noise

    tableau = _extrapolate(differences, first, _KINDS[:, None])
    with np.errstate(all="ignore"):
        return _estimate_of(tableau, last, unit * np.abs(rest))


def _estimate_of(tableau: Tableau, step: float, rounding: np.ndarray) -> Estimate:
    value, left, right = tableau.value
    error, left_error, right_error = tableau.error
    _, behind, ahead = tableau.estimates[-1]
    gap = np.abs(right - left)
    kinked = gap > _MARGIN * (left_error + right_error) + _SAME * np.maximum(np.abs(left), np.abs(right))
    kinked &= np.abs(ahead - behind) >= 0.5 * gap
    jumps = np.any(_jumps(np.abs(np.array(tableau.estimates)[:, 1:]), step, _JUMP * rounding), axis=0)
    kinked |= jumps
    low, high = np.where(jumps, -np.inf, left), np.where(jumps, np.inf, right)
    return Estimate(
        value,
        np.where(jumps, np.inf, _MARGIN * error),
        np.where(kinked, low, value),
        np.where(kinked, high, value),
        kinked,
    )
