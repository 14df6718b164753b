"""A reference of finite differences of the code's forward.

The derivatives of the results by each element are kept, so that other incoming gradients cost nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from itertools import product

import numpy as np

from gradcheck.autograd.dtypes import largest_finite, wide
from gradcheck.checks.closeness.tolerance import epsilon
from gradcheck.checks.options import Engines
from gradcheck.checks.points.point import Point
from gradcheck.engines.base import Evaluation
from gradcheck.engines.implementation.code_engine import CodeEngine
from gradcheck.errors import GradcheckError
from gradcheck.language.problem import Problem
from gradcheck.oracles.numeric.finite_differences import array_derivative

#: The largest input of which gradients are known, and how often the code is called in all.
_MOST_ELEMENTS, _MOST_CALLS = 256, 9_000
#: The precision at which steps end, the largest error, and the step at which both sides must agree.
_ENOUGH, _MAX_ERROR, _SIDES = 1e-11, 1e-4, 2.0**-16


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
        if not 0 < array.size <= _MOST_ELEMENTS:
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
