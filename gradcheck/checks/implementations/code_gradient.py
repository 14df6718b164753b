"""Finite differences of code: of one gradient, and as a reference."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from gradcheck.autograd.dtypes import largest_finite, wide
from gradcheck.checks.closeness.tolerance import Tolerance, engine_tolerance, epsilon
from gradcheck.checks.implementations.code_noise import CodeNoise
from gradcheck.checks.options import Engines
from gradcheck.checks.points.point import Point
from gradcheck.checks.result import Subject
from gradcheck.engines.base import Evaluation
from gradcheck.engines.implementation.code_engine import CodeEngine
from gradcheck.errors import GradcheckError
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.language.problem import Problem
from gradcheck.language.random_streams import stream
from gradcheck.oracles.numeric.finite_differences import Slope, array_derivative, slope

#: Differences are taken for so many elements of an input, and so many directions.
ELEMENTS, _DIRECTIONS = 12, 2
#: The largest input of which a failure is shown in all elements.
_ALL_ELEMENTS = 256
#: Factors on the first step where the code raises at larger ones.
_STARTS = (1.0, 2.0**-8, 2.0**-16)
#: How many points beside a kink are looked at, and how near by, relative to the largest number.
_POINTS, _NEAR = 12, 2.0**-14
#: The largest input of which gradients are known, and how often the code is called in all.
_MOST_MOVED, _MOST_CALLS = 256, 9_000
#: The precision at which steps end, the largest error, and the step at which both sides must agree.
_ENOUGH, _MAX_ERROR, _SIDES = 1e-11, 1e-4, 2.0**-16


@dataclass(frozen=True, slots=True)
class CodeGradient:
    """The code's gradient of one input at a point."""

    point: Point
    engine: CodeEngine
    name: str
    gradient: np.ndarray | None
    noise: CodeNoise  # measures its rounding

    @property
    def array(self) -> np.ndarray:
        return self.point.problem.inputs[self.name]

    @property
    def values(self) -> np.ndarray | None:
        """The gradient in double precision; None if its shape is wrong."""
        if self.gradient is None:
            return np.zeros(self.array.shape)
        return wide(self.gradient) if self.gradient.shape == self.array.shape else None

    @property
    def tolerance(self) -> Tolerance:
        """The tolerance of each element."""
        return engine_tolerance(self.array.dtype, self.point.problem.case.engine_tolerance)

    @property
    def rounding(self) -> np.ndarray:
        """The results' rounding over each element: noise beside zeros."""
        (seeds,), values = self.point.problem.seeds, self.point.evaluation(self.engine).states[0].values
        with np.errstate(all="ignore"):
            products = (wide(values[root]) * wide(g) for root, g in seeds.items() if g is not None)
            total = sum(float(np.sum(np.abs(product))) for product in products)
        largest, unit = _largest(self.array), epsilon(self.array.dtype)
        size = unit * total / np.maximum(np.abs(wide(self.array)), np.sqrt(unit) * largest)
        return np.asarray(size if np.isfinite(total) else np.zeros(self.array.shape))

    def subject(self, reference: str) -> Subject:
        """Return the subject of the claim, against this reference."""
        engine, trial = self.engine.name, self.point.trial
        return Subject(ClaimKind.GRADIENT, self.name, 0, engine, reference, trial=trial)

    def unit(self, place: int, size: complex = 1.0) -> np.ndarray:
        """Return the direction along one element."""
        found = np.zeros(self.array.size, dtype=type(size))
        found[place] = size
        return found.reshape(self.array.shape)

    def slope(self, direction: np.ndarray, finer: float = 1.0, scale: float = 0.0) -> Slope | None:
        """Return the derivative along a direction, as precise as `scale` needs."""
        return slope_along([(self, direction)], finer, scale)


def slope_along(
    moves: Sequence[tuple[CodeGradient, np.ndarray]], finer: float = 1.0, scale: float = 0.0
) -> Slope | None:
    """Return the derivative where several inputs move together, or None."""
    claim, _ = moves[0]
    engine, problem = claim.engine, claim.point.problem
    (seeds,) = problem.seeds
    wanted = [(one.name, wide(one.array), direction, one.array.dtype) for one, direction in moves]
    weights = {root: wide(g).conj() for root, g in seeds.items() if g is not None}

    def share(t: float) -> tuple[np.ndarray, float]:
        if t:
            moved = {name: np.asarray(array + t * way).astype(dtype) for name, array, way, dtype in wanted}
            values = engine.values_alone(replace(problem, inputs={**problem.inputs, **moved}))
        else:
            values = claim.point.evaluation(engine).states[0].values
        if not values:
            raise GradcheckError("it raises near by")
        return np.concatenate([(wide(values[root]) * g).ravel() for root, g in weights.items()]).real, t

    ratios = [_largest(array[way != 0]) / _largest(way) for _, array, way, _ in wanted]
    unit = max(epsilon(dtype) for *_, dtype in wanted)
    first = finer * 2.0 ** np.floor(np.log2(min(ratios) / 8))
    for start in _STARTS:
        try:
            with engine.session(problem.dtype):
                found = slope(share, start * first, max(unit, 2.0**-52), scale)
        except (GradcheckError, ValueError, KeyError):
            continue
        return found if np.isfinite(found.error) else None
    return None


def numeric_gradient(claim: CodeGradient) -> tuple[np.ndarray, float] | None:
    """Return the differences of all elements, and the largest error.

    None for large inputs, and where an element has none, or two sides."""
    if not 0 < claim.array.size <= _ALL_ELEMENTS:
        return None
    scale, units = _largest(claim.values) if claim.values is not None else 1.0, _units(claim)
    found = [claim.slope(claim.unit(place, unit), scale=scale) for place in range(claim.array.size) for unit in units]
    known = [one for one in found if one is not None and not one.kinked]
    if len(known) < len(found):
        return None
    parts = np.reshape([one.value for one in known], (*claim.array.shape, len(units)))
    return parts @ np.array(units), max(one.error for one in known)


def _largest(array: np.ndarray) -> float:
    return float(np.max(np.abs(array), initial=0.0)) or 1.0


def unit_directions(claim: CodeGradient) -> Iterator[np.ndarray]:
    """Yield single elements, both parts of complex ones."""
    size = claim.array.size
    places = np.arange(size) if size <= ELEMENTS else generator_of(claim).choice(size, ELEMENTS, replace=False)
    for place in places:
        for unit in _units(claim):
            yield claim.unit(int(place), unit)


def joint_directions(claim: CodeGradient, few: bool = False) -> Iterator[np.ndarray]:
    """Yield all elements together, and random directions of large inputs."""
    shape, size = claim.array.shape, claim.array.size
    if size == 1:
        yield from unit_directions(claim) if few else ()
        return
    yield np.ones(shape)  # gradients of equal elements, each right alone, may add up to too much
    generator = generator_of(claim, "together")
    for _ in range((size > ELEMENTS) * _DIRECTIONS if not few else 1):
        yield generator.standard_normal(shape) * _units(claim)[-1]


def _units(claim: CodeGradient) -> tuple[complex, ...]:
    return (1.0, 1j) if claim.array.dtype.kind == "c" else (1.0,)


def generator_of(claim: CodeGradient, *words: str) -> np.random.Generator:
    return stream(claim.point.problem.seed, "directions", claim.name, *words)


def with_sides_nearby(claim: CodeGradient, direction: np.ndarray, kink: Slope) -> Slope:
    """Return the kink with sides that include the derivatives beside it.

    Sorting, ranking and maxima choose among equal elements. The gradient of any choice is right: a derivative beside
    the kink, though perhaps in no direction along one element."""
    generator, scale = generator_of(claim, "beside"), max(map(abs, kink.sides))
    sides = list(kink.sides)
    for _ in range(_POINTS):
        beside = Point(_moved(claim.point.problem, generator), claim.point.engines, claim.point.trial)
        found = replace(claim, point=beside).slope(direction, _NEAR**2, scale)
        sides += [] if found is None else found.sides
    finite = [side for side in sides if np.isfinite(side)]
    return replace(kink, left=min(finite, default=kink.left), right=max(finite, default=kink.right))


def _moved(problem: Problem, generator: np.random.Generator) -> Problem:
    """Return the problem with all real inputs moved, each on its own."""
    moved = {
        name: (array + _NEAR * largest_finite(array) * generator.standard_normal(array.shape)).astype(array.dtype)
        for name, array in problem.inputs.items()
        if array.dtype.kind == "f"
    }
    return replace(problem, inputs={**problem.inputs, **moved})


class DifferencesEngine:
    """Finite differences as an engine, and right gradients of the code.

    calls   how often the code was called; after the most, no other point has a gradient
    error   the largest error of a derivative, relative to the largest by the same element"""

    def __init__(self, engine: CodeEngine, wrong: Collection[str]) -> None:
        self.name, self.calls, self.error, self.wrong = "differences", 0, 0.0, wrong
        self._engine = engine
        self._rows: dict[tuple[str, str, bytes], np.ndarray | None] = {}

    def evaluate(self, problem: Problem) -> Evaluation:
        """Return the code's evaluation with these gradients."""
        found = Point(problem, Engines((self._engine,), self._engine)).evaluation(self._engine)
        if not found.states or found.error is not None:
            return replace(found, states=())
        own = found.states[0].gradients
        gradients = _Gradients(own, set(self.wrong) & problem.inputs.keys(), lambda name: self._gradient(problem, name))
        return replace(found, states=(replace(found.states[0], gradients=gradients),))

    def with_ones(self, problem: Problem, name: str) -> np.ndarray | None:
        """Return the gradient of the results' sum."""
        ones = {root: None if g is None else np.ones_like(g) for root, g in problem.seeds[0].items()}
        return self._gradient(replace(problem, seeds=(ones,)), name)

    def _gradient(self, problem: Problem, name: str) -> np.ndarray | None:
        (seeds,), array, rows = problem.seeds, problem.inputs[name], self._derivatives(problem, name)
        if rows is None:
            return None
        weights = np.concatenate([wide(g).ravel() for g in seeds.values() if g is not None])
        real, *imaginary = np.split(np.asarray(rows @ weights.conj()).real, len(rows) // array.size)
        found = real + 1j * imaginary[0] if imaginary else real
        return np.asarray(found).reshape(array.shape).astype(array.dtype)

    def _derivatives(self, problem: Problem, name: str) -> np.ndarray | None:
        """Return the derivatives of all results by element; None if unknown.

        Those by imaginary parts follow those by real ones."""
        array = problem.inputs[name]
        if not 0 < array.size <= _MOST_MOVED:
            return None
        ways = (1.0, 1.0j) if array.dtype.kind == "c" else (1.0,)
        roots = [root for root, seed in problem.seeds[0].items() if seed is not None]
        numbers = b"".join(one.tobytes() for _, one in sorted({**problem.inputs, **problem.constants}.items()))
        key = (name, " ".join(roots), numbers)
        if key not in self._rows:
            rows = []
            for way, place in product(ways, range(array.size)):
                row = self._row(problem, name, place, roots, way) if self.calls <= _MOST_CALLS else None
                if row is None:
                    break
                rows.append(row)
            self._rows[key] = np.array(rows) if len(rows) == len(ways) * array.size else None
        return self._rows[key]

    def _row(self, problem: Problem, name: str, place: int, roots: list[str], way: complex) -> np.ndarray | None:
        """Return the derivatives by one element; None at a kink, or if unclear."""
        array = problem.inputs[name]

        def moved(step: float) -> np.ndarray:
            self.calls += 1
            there = wide(array).copy()
            there.flat[place] += step * way
            inputs = {**problem.inputs, name: there.astype(array.dtype)}
            values = self._engine.values_alone(replace(problem, inputs=inputs))
            if not values:
                raise GradcheckError("it raises near by")
            return np.concatenate([wide(values[root]).ravel() for root in roots])

        unit = max(epsilon(array.dtype), 2.0**-52)
        first = 2.0 ** np.floor(np.log2((largest_finite(array) or 1.0) / 8))
        try:
            with self._engine.session(problem.dtype), np.errstate(all="ignore"):
                found, error = array_derivative(moved, first, unit, _ENOUGH)
                here = moved(0.0)
                bend = moved(first * _SIDES) + moved(-first * _SIDES) - 2 * here
        except GradcheckError:
            return None
        scale = largest_finite(found)
        is_clear = np.all(error <= _MAX_ERROR * (scale or largest_finite(here) / (8 * first)))
        has_sides = np.any(np.abs(bend) > 0.01 * first * _SIDES * (scale or 1.0))
        if not is_clear or has_sides:
            return None
        self.error = max(self.error, largest_finite(error) / (scale or 1.0))
        return found


class _Gradients(Mapping[str, "np.ndarray | None"]):
    """The code's gradients; wrong ones are computed when they are asked for."""

    def __init__(
        self, own: Mapping[str, np.ndarray | None], wrong: Collection[str], compute: Callable[[str], np.ndarray | None]
    ) -> None:
        self._own, self._wrong, self._compute = own, wrong, compute

    def __getitem__(self, name: str) -> np.ndarray | None:
        return self._compute(name) if name in self._wrong else self._own[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._own)

    def __len__(self) -> int:
        return len(self._own)
