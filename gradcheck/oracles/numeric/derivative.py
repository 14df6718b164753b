"""The numeric oracle: derivatives of the forward alone, with error bars, independent of every gradient rule.

Where every op between a tensor and the roots is analytic (its entry says so), a complex step: the derivative is the
imaginary part of `f(x + ih v) / h`, without any cancellation (Squire and Trapp, 1998). Elsewhere extrapolated
differences (`differences.py`), in long double where NumPy has it and the ops take it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from gradcheck.errors import GradcheckError, Unsupported
from gradcheck.language.problem import Problem
from gradcheck.oracles.numeric.differences import Share, Slope, slope
from gradcheck.oracles.numeric.objective import Moving, Tensor, passes, shares
from gradcheck.oracles.numeric.perturbed import Walk

Method = Literal["complex step", "differences"]

_EPSILON = 2.0**-52
_LONG = np.dtype(np.longdouble)
_LONG_UNIT = float(np.finfo(_LONG).eps)
#: Relative rounding, by the bytes of a number.
_UNITS = {2: 2.0**-7, 4: 2.0**-23, 8: _EPSILON}
#: The imaginary step, relative to the tensor; twice, with other bits, so that roundings differ.
_STEPS = (1.1e-30, 0.7e-33)
#: One draw of last places may be a lucky one.
_MARGIN = 16.0
#: How far the real part may stray from the value at rest: further, and the function is not the analytic one.
_STRAY = 1e-9
#: Seconds of one evaluation beyond which long double, which has no fast matrix products, is not tried.
_SLOW = 0.02
#: Around a kink, how far neighbours are, relative to the size of what moves, and how many are asked.
_NEAR, _NEIGHBOURS = 2.0**-20, 6
#: The first difference's step, relative to an element, and the least size of an element, relative to the tensor's.
_FIRST, _FLOOR = 2.0**-3, 2.0**-10


@dataclass(frozen=True, slots=True)
class Estimate:
    """Derivatives by the numeric oracle, one an entry, with absolute error bars (infinite where it cannot tell).

    Where `kinked`, there is no derivative: `left` and `right` are the one-sided ones, else both equal `value`.
    """

    value: np.ndarray
    error: np.ndarray
    left: np.ndarray
    right: np.ndarray
    kinked: np.ndarray
    method: Method
    why: str = ""  # why no complex step


@dataclass(slots=True)
class Numeric:
    """The derivatives of a sum of functions of one tensor."""

    movings: Sequence[Moving]
    seed: int = 0
    method: Method = "complex step"
    why: str = ""
    _lines: list[_Line] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._lines = [_Line(moving, self.seed + index) for index, moving in enumerate(self.movings)]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.movings[0].point.shape

    @property
    def dtype(self) -> np.dtype:
        """float64 or complex128."""
        return self.movings[0].point.dtype

    def partials(self, indices: Iterable[int], seconds: float = np.inf) -> Estimate:
        """The gradient's elements at these flat indices; stops early, after one at least, when the time is up."""
        start = time.perf_counter()
        found: list[Slope] = []
        imaginary: list[Slope] = []
        for index in indices:
            if found and time.perf_counter() - start > seconds:
                break
            found.append(self._along(_unit(self.shape, index, 1.0)))
            if self.dtype.kind == "c":
                imaginary.append(self._along(_unit(self.shape, index, 1j)))
        return self._estimate(found, imaginary)

    def along(self, directions: Iterable[np.ndarray]) -> Estimate:
        """The derivatives along directions, arrays of the tensor's shape: the real part of `<gradient, direction>`."""
        return self._estimate([self._along(direction) for direction in directions], [])

    def _along(self, direction: np.ndarray) -> Slope:
        """By the best method that serves all passes; once it is differences, it stays so."""
        if self.method == "complex step":
            try:
                return _added(line.complex_step(direction) for line in self._lines)
            except GradcheckError as error:
                self.method, self.why = "differences", error.message
        return _added(line.difference(direction) for line in self._lines)

    def _estimate(self, found: list[Slope], imaginary: list[Slope]) -> Estimate:
        def gathered(number: Callable[[Slope], float]) -> np.ndarray:
            real = np.array([number(one) for one in found], dtype=np.float64)
            return real + 1j * np.array([number(one) for one in imaginary]) if imaginary else real

        error = np.array([one.error for one in found])
        if imaginary:
            error = np.hypot(error, [one.error for one in imaginary])
        kinked = np.array([one.kinked for one in found], dtype=bool)
        if imaginary:
            kinked |= [one.kinked for one in imaginary]
        return Estimate(
            value=gathered(lambda s: s.value),
            error=error,
            left=gathered(lambda s: s.value if s.left is None else s.left),
            right=gathered(lambda s: s.value if s.right is None else s.right),
            kinked=kinked,
            method=self.method,
            why=self.why,
        )


def of_tensor(problem: Problem, tensor: str, step: int) -> Numeric:
    """What the gradient of a named tensor should be after a step. The problem must be in double precision.

    Raises GradcheckError where the graph cannot be evaluated, Unsupported where there is nothing to differentiate.
    """
    found = [Tensor(problem, tensor, backward) for backward in passes(problem, tensor, step)]
    if not found:
        raise Unsupported(f"no backward pass has reached {tensor}")
    return Numeric(found, problem.seed)


def directions(numeric: Numeric, count: int, chosen: np.ndarray | None = None) -> Iterator[np.ndarray]:
    """Random signs for every element, or for the chosen ones (flat indices), scaled to a length of about 1."""
    generator = np.random.default_rng([abs(numeric.seed), 0x6469726563])
    size = int(np.prod(numeric.shape))
    picked = np.arange(size) if chosen is None else chosen
    length = 2.0 ** -round(np.log2(max(1, picked.size)) / 2)  # a power of two, so that steps are exact
    for _ in range(count):
        flat = np.zeros(size, dtype=numeric.dtype)
        signs = generator.choice([-1.0, 1.0], picked.size)
        flat[picked] = length * (signs + 1j * generator.choice([-1.0, 1.0], picked.size)
                                 if numeric.dtype.kind == "c" else signs)  # fmt: skip
        yield flat.reshape(numeric.shape)


def _unit(shape: tuple[int, ...], index: int, number: complex) -> np.ndarray:
    flat = np.zeros(int(np.prod(shape)), dtype=type(number))
    flat[index] = number
    return flat.reshape(shape)


def _added(slopes: Iterable[Slope]) -> Slope:
    """The slope of a sum. One-sided derivatives of parts that are smooth are their derivatives."""
    found = list(slopes)
    value, error = sum(s.value for s in found), sum(s.error for s in found)
    if not any(s.kinked for s in found):
        return Slope(value, error)
    left = sum(s.value if s.left is None else s.left for s in found)
    right = sum(s.value if s.right is None else s.right for s in found)
    return Slope(value, error, left, right)


# One function along one direction ------------------------------------------------------------------


@dataclass(slots=True)
class _Line:
    """One function of the tensor, with what is known of it at rest."""

    moving: Moving
    seed: int
    _rest: np.ndarray | None = None
    _wide: tuple[Walk, np.ndarray] | None = None
    _unit: float = 0.0

    def complex_step(self, direction: np.ndarray) -> Slope:
        """Raises GradcheckError where the way is not analytic, or leads nowhere."""
        point = self.moving.point
        if point.dtype.kind == "c":
            raise Unsupported("the tensor is complex itself")
        if self._rest is None:
            self._rest = shares(self.moving.terms(point, Walk(complex_step=False, at_rest=True)))
        size = _size_along(point, direction)
        jitter = np.random.default_rng([abs(self.seed), point.size]).choice([-_EPSILON, 0.0, _EPSILON], point.shape)
        found = []
        for step, here in zip(_STEPS, (point, point * (1.0 + jitter)), strict=True):
            height = max(step * size, 1e-307)
            terms = shares(self.moving.terms(here + 1j * height * direction, Walk(complex_step=True)))
            self._refuse_strays(terms)
            found.append(terms.imag / height)
        value = float(np.sum(found[0]))
        if not np.isfinite(value):
            raise Unsupported("a complex step leaves the finite numbers")
        rounding = 8.0 * _EPSILON * float(np.sum(np.abs(found[0])))
        return Slope(value, _MARGIN * abs(float(np.sum(found[1])) - value) + rounding)

    def _refuse_strays(self, terms: np.ndarray) -> None:
        rest = self._rest
        assert rest is not None
        scale = float(np.max(np.abs(rest), initial=0.0))
        if terms.shape != rest.shape or not np.all(np.abs(terms.real - rest) <= _STRAY * scale):
            raise Unsupported("another function for complex numbers")

    def difference(self, direction: np.ndarray) -> Slope:
        """By extrapolated differences."""
        walk, point = self._at_rest()
        wide = point.astype(np.result_type(point, np.complex64)) if direction.dtype.kind == "c" else point
        moved_by = direction.astype(wide.dtype)
        square = np.vdot(moved_by, moved_by).real

        def share(t: float) -> tuple[np.ndarray, float]:
            if t == 0.0:
                there = point
            else:
                there = (point + moved_by * point.real.dtype.type(t)).astype(point.dtype, copy=False)
            taken = np.vdot(moved_by, there - point).real / square
            terms = self.moving.terms(there, Walk(complex_step=False, still=walk.still))
            return shares(terms), float(taken)

        size = _size_along(self.moving.point, direction)
        found = slope(_checked(share), _FIRST * size, self._unit)
        return self._with_neighbours(found, moved_by, size) if found.kinked else found

    def _with_neighbours(self, kink: Slope, direction: np.ndarray, size: float) -> Slope:
        """The subgradients of a kink are all between derivatives close by, on all its sides, not on two alone: of
        three that tie, the middle one may take what neither side of it does (Clarke, 1975)."""
        walk, point = self._at_rest()
        generator = np.random.default_rng([abs(self.seed), 0x636C61726B65])
        assert kink.left is not None
        assert kink.right is not None
        slopes = [kink.left, kink.right]
        near = _NEAR * size
        for _ in range(_NEIGHBOURS):
            there = point + near * generator.standard_normal(point.shape)
            pair = []
            for sign in (1.0, -1.0):
                moved = (there + direction * point.real.dtype.type(sign * near / 64)).astype(point.dtype, copy=False)
                try:
                    pair.append(shares(self.moving.terms(moved, Walk(complex_step=False, still=walk.still))))
                except GradcheckError:
                    break
            if len(pair) == 2:
                slopes.append(float(np.sum((pair[0] - pair[1]).real) * 32 / near))
        finite = [one for one in slopes if not np.isnan(one)]
        return replace(kink, left=min(finite), right=max(finite))

    def _at_rest(self) -> tuple[Walk, np.ndarray]:
        """The evaluation at rest, and the point, in the widest arithmetic that the ops take."""
        if self._wide is None:
            self._wide = self._try_long() or self._walked(self.moving.point)
        return self._wide

    def _try_long(self) -> tuple[Walk, np.ndarray] | None:
        if _LONG_UNIT >= _EPSILON:
            return None
        point = self.moving.point
        start = time.perf_counter()
        self._walked(point)
        if time.perf_counter() - start > _SLOW:
            return None
        try:
            found = self._walked(point.astype(np.clongdouble if point.dtype.kind == "c" else np.longdouble))
        except GradcheckError:  # linear algebra has no long double
            return None
        return found if found[0].narrowest > 8 else None

    def _walked(self, point: np.ndarray) -> tuple[Walk, np.ndarray]:
        walk = Walk(complex_step=False, at_rest=True)
        self.moving.terms(point, walk)
        self._unit = _UNITS.get(walk.narrowest, _LONG_UNIT)
        return walk, point


def _checked(share: Share) -> Share:
    """What cannot be evaluated where it is moved to, outside an op's domain, is no number there."""
    at_rest, _ = share(0.0)

    def checked(t: float) -> tuple[np.ndarray, float]:
        try:
            return share(t)
        except GradcheckError:
            return np.full(at_rest.shape, np.nan), t

    return checked


def _size_along(point: np.ndarray, direction: np.ndarray) -> float:
    """The size of what moves, by which steps are measured, and over the direction's own length: the smallest element,
    but no less than a part of the largest of the tensor."""
    sizes = np.abs(point)
    finite = sizes[np.isfinite(sizes)]
    largest = float(np.max(finite, initial=0.0)) or 1.0
    moving = sizes[direction != 0]
    smallest = float(np.min(moving, initial=np.inf, where=moving > 0)) if moving.size == 1 else float(np.median(moving))
    size = smallest if np.isfinite(smallest) and smallest > 0 else _FLOOR * largest
    reach = float(np.max(np.abs(direction), initial=0.0)) or 1.0
    return float(2.0 ** np.round(np.log2(max(size, 1e-307)))) / reach
