"""Directional derivatives: by a complex step, or by differences.

A complex step takes the imaginary part of `f(x + ih v) / h`, which cancels nothing, so that h may be tiny (Squire and
Trapp, "Using complex variables to estimate derivatives of real functions", SIAM Review 40(1), 1998; Martins, Sturdza
and Alonso, "The complex-step derivative approximation", ACM TOMS 29(3), 2003). It needs an analytic function.
Differences are extrapolated, and run in long double if NumPy and the ops have it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from gradcheck.autograd.dtypes import largest_finite
from gradcheck.errors import GradcheckError, Unsupported
from gradcheck.language.random_streams import stream
from gradcheck.oracles.numeric.finite_differences import (
    LEVELS,
    SMALLEST,
    Method,
    ShiftedTerms,
    Slope,
    one_sided_slopes,
    slope,
)
from gradcheck.oracles.numeric.high_precision import Real, extrapolated_side, further_digits, reals, supported
from gradcheck.oracles.numeric.objective import Objective
from gradcheck.oracles.numeric.perturbed_array import ForwardPass

EPSILON = 2.0**-52
_LONG_EPSILON = float(np.finfo(np.longdouble).eps)
#: Relative rounding, by the bytes of a number.
_UNITS = {2: 2.0**-7, 4: 2.0**-23, 8: EPSILON}
#: The imaginary step, relative to the tensor; twice, with other bits, so that roundings differ.
STEPS = (1.1e-30, 0.7e-33)
#: The factor on a difference of two draws, which may agree by luck.
MARGIN = 16.0
#: The largest relative change of the real part of an analytic function.
STRAY = 1e-9
#: The relative distance, and the number, of neighbours of a kink.
_NEAR, _NEIGHBOURS = 2.0**-20, 6
#: The first difference's step, relative to an element, and the least size of an element, relative to the tensor's.
_FIRST, _FLOOR = 2.0**-3, 2.0**-10
#: An element below this share of the largest is moved further if its relative error exceeds the second number.
_TINY, _VAGUE = 2.0**-6, 2.0**-33
#: The most work of an evaluation in long double, which has no fast matrix products.
LONG_DOUBLE_WORK = 4_000_000
#: The most elements of all results in high precision, and the relative difference of equal sides.
HIGH_PRECISION_ELEMENTS, _SAME = 1_000, 1e-15
#: How much slower complex and long double arithmetic are than float64's.
_SLOWDOWN = 4


@dataclass(slots=True)
class _UnmovedEvaluation:
    """The objective at the original point: the point, the pass, its terms."""

    point: np.ndarray
    forward: ForwardPass
    terms: np.ndarray

    @property
    def unit(self) -> float:
        """The relative rounding of the coarsest arithmetic in the pass."""
        return _UNITS.get(self.forward.narrowest, _LONG_EPSILON)


@dataclass
class DirectionalDerivative:
    """Derivatives of one objective: the real part of `<gradient, direction>`."""

    objective: Objective
    seed: int

    def cost(self, method: Method) -> int:
        """Return the work of one derivative, with all steps."""
        if method == "complex step":
            return self._at_rest.forward.work.cost(len(STEPS), _SLOWDOWN)
        rest = self._at_rest_in_long_double
        slowdown = 1 if rest is self._at_rest else _SLOWDOWN
        return self._at_rest.forward.work.cost(2 * LEVELS + 1, slowdown)

    @property
    def elements(self) -> int:
        """The elements of all results in one evaluation."""
        return self._at_rest.forward.work.elements

    def complex_step(self, direction: np.ndarray) -> Slope:
        """Return the slope. Raises Unsupported if it is not analytic or finite."""
        point = self.objective.point
        if point.dtype.kind == "c":
            raise Unsupported("the tensor is complex itself")
        rest = self._at_rest
        size = _size_along(point, direction)
        jitter = stream(self.seed, "complex step").choice([-EPSILON, 0.0, EPSILON], point.shape)
        found = []
        for step, here in zip(STEPS, (point, point * (1.0 + jitter)), strict=True):
            height = max(step * size, 1e-307)
            terms = self.objective.terms(here + 1j * height * direction, ForwardPass(complex_step=True))
            _require_analytic(terms, rest.terms)
            found.append(terms.imag / height)
        value = float(np.sum(found[0]))
        if not np.isfinite(value):
            raise Unsupported("a complex step leaves the finite numbers")
        rounding = 8.0 * EPSILON * float(np.sum(np.abs(found[0])))
        underflow = found[0].size * SMALLEST / height  # a smaller derivative may have become zero
        return Slope(value, MARGIN * abs(float(np.sum(found[1])) - value) + rounding + underflow)

    def differences(self, direction: np.ndarray) -> Slope:
        """Return the slope; at a kink the interval of subgradients nearby."""
        moved_by = self._in_precision(direction)
        share, unit = self._terms_along(moved_by), self._at_rest_in_long_double.unit
        size = _size_along(self.objective.point, direction)
        found = slope(share, _FIRST * size, unit)
        largest = _over_length(largest_finite(self.objective.point) or 1.0, direction)
        if not found.kinked and size < _TINY * largest and found.error > _VAGUE * abs(found.value):
            wider = slope(share, _FIRST * largest, unit)  # a small element may vanish in a sum
            found = wider if not wider.kinked and wider.error < found.error else found
        return self._with_neighbours(found, moved_by, size) if found.kinked else found

    def precise(self, direction: np.ndarray) -> Slope:
        """Return the slope in high precision. Raises Unsupported at a kink."""
        left, right = self.precise_sides(direction)
        if not abs(right - left) <= _SAME * max(abs(left), abs(right)):
            raise Unsupported("a kink, or no finite number")
        return Slope(0.5 * (left + right), EPSILON * abs(right))

    def one_sided(self, direction: np.ndarray) -> tuple[float, float]:
        """Return the derivatives from both sides, NaN where there is none."""
        try:
            return self.precise_sides(direction)
        except Unsupported:
            if not np.isfinite(self._at_rest.terms).all():
                return np.nan, np.nan
            share = self._terms_along(self._in_precision(direction))
            first = _FIRST * _size_along(self.objective.point, direction)
            return one_sided_slopes(share, first, self._at_rest_in_long_double.unit)

    def precise_sides(self, direction: np.ndarray) -> tuple[float, float]:
        """Return the derivatives from both sides in high precision, or NaN.

        Raises Unsupported for complex or large tensors, and for ops that cannot be computed so."""
        point = self.objective.point
        if point.dtype.kind == "c" or self.elements > HIGH_PRECISION_ELEMENTS:
            raise Unsupported("too large for high precision, or complex")
        size, here = _size_along(point, direction), reals(point)
        forward = ForwardPass(at_rest=True, high_precision=True)

        def difference(t: float) -> Any:
            moved = np.asanyarray(here + reals(t * direction))
            there = self.objective.terms(moved, ForwardPass(high_precision=True, detached=forward.detached))
            return np.sum(there - rest) / t if rest.size else Real(0.0)

        beside = float(np.log10(max(largest_finite(self._at_rest.terms) / size, 1.0)))
        with supported(), further_digits(beside):
            rest = self.objective.terms(here, forward)
            return extrapolated_side(difference, -size), extrapolated_side(difference, size)

    def _in_precision(self, direction: np.ndarray) -> np.ndarray:
        point = self._at_rest_in_long_double.point
        dtype = np.result_type(point, np.complex64) if direction.dtype.kind == "c" else point.dtype
        return direction.astype(dtype)

    def _terms_along(self, moved_by: np.ndarray) -> ShiftedTerms:
        """Return the terms as a function of the step; NaN outside of a domain."""
        rest = self._at_rest_in_long_double
        square = np.vdot(moved_by, moved_by).real

        def share(t: float) -> tuple[np.ndarray, float]:
            if t == 0.0:
                return rest.terms, 0.0
            there = _moved(rest.point, moved_by, t)
            try:
                return self._terms(there), float(np.vdot(moved_by, there - rest.point).real / square)
            except GradcheckError:
                return np.full(rest.terms.shape, np.nan), t

        return share

    def _with_neighbours(self, kink: Slope, direction: np.ndarray, size: float) -> Slope:
        """Widen a kink's interval to the derivatives at points around it.

        All subgradients lie between these, not between the two sides alone: of three that tie, the middle one may take
        what neither side of it does (Clarke, "Generalized gradients and applications", Transactions of the AMS 205,
        1975).
        """
        point = self._at_rest_in_long_double.point
        generator = stream(self.seed, "neighbours of a kink")
        slopes = [*kink.sides]
        near = _NEAR * size
        for _ in range(_NEIGHBOURS):
            there = point + near * generator.standard_normal(point.shape)
            try:
                ahead, behind = (self._terms(_moved(there, direction, sign * near / 64)) for sign in (1.0, -1.0))
            except GradcheckError:
                continue
            slopes.append(float(np.sum((ahead - behind).real) * 32 / near))
        finite = [one for one in slopes if not np.isnan(one)]
        return replace(kink, left=min(finite), right=max(finite))

    def _terms(self, moved: np.ndarray) -> np.ndarray:
        detached = self._at_rest_in_long_double.forward.detached
        return self.objective.terms(moved, ForwardPass(detached=detached))

    @cached_property
    def _at_rest(self) -> _UnmovedEvaluation:
        return self._evaluated(self.objective.point)

    @cached_property
    def _at_rest_in_long_double(self) -> _UnmovedEvaluation:
        """Return the evaluation in long double, or in double if that is slow."""
        double = self._at_rest
        if _LONG_EPSILON < EPSILON and double.forward.work.cost() <= LONG_DOUBLE_WORK:
            return self._evaluated_in_long_double() or double
        return double

    def _evaluated_in_long_double(self) -> _UnmovedEvaluation | None:
        point = self.objective.point
        try:
            rest = self._evaluated(point.astype(np.clongdouble if point.dtype.kind == "c" else np.longdouble))
        except GradcheckError:  # linear algebra has no long double
            return None
        return rest if rest.forward.narrowest > 8 else None

    def _evaluated(self, point: np.ndarray) -> _UnmovedEvaluation:
        forward = ForwardPass(at_rest=True)
        return _UnmovedEvaluation(point, forward, self.objective.terms(point, forward))


def _moved(point: np.ndarray, direction: np.ndarray, step: float) -> np.ndarray:
    moved: np.ndarray = point + direction * point.real.dtype.type(step)
    return moved.astype(point.dtype, copy=False)


def _require_analytic(terms: np.ndarray, rest: np.ndarray) -> None:
    scale = float(np.max(np.abs(rest), initial=0.0))
    if terms.shape != rest.shape or not np.all(np.abs(terms.real - rest) <= STRAY * scale):
        raise Unsupported("another function for complex numbers")


def _size_along(point: np.ndarray, direction: np.ndarray) -> float:
    """Return the scale of steps, a power of two: the smallest moving element."""
    # but no less than a part of the tensor's largest, over the direction's length
    sizes = np.abs(point)
    moving = sizes[direction != 0]
    smallest = float(np.min(moving, initial=np.inf, where=moving > 0)) if moving.size == 1 else float(np.median(moving))
    size = smallest if np.isfinite(smallest) and smallest > 0 else _FLOOR * (largest_finite(point) or 1.0)
    return _over_length(size, direction)


def _over_length(size: float, direction: np.ndarray) -> float:
    reach = float(np.max(np.abs(direction), initial=0.0)) or 1.0
    return float(2.0 ** np.round(np.log2(max(size, 1e-307)))) / reach
