"""Measure the rounding of code without a specification.

Inputs move by a unit in the last place, and torch's ops round randomly. A mistake adds the same error in each draw;
rounding does not.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.dtypes import wide
from gradcheck.checks.closeness.rounding import recheck_with_allowance
from gradcheck.checks.closeness.tolerance import epsilon
from gradcheck.checks.implementations.second_order import exceeds_rounding
from gradcheck.checks.points.point import Point
from gradcheck.checks.result import Comparison
from gradcheck.engines.base import Evaluation
from gradcheck.engines.implementation.code_engine import CodeEngine
from gradcheck.facts import fact
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.language.problem import Problem
from gradcheck.language.random_streams import stream

#: The number of draws, and the allowance in units of the noise.
_DRAWS, _MARGIN = 6, 8.0
#: Elements that hardly move by chance get this part of the largest noise.
_LUCK = 1e-6
#: Relative moves of inputs that show whether results respond: many units in the last place in double precision, none
#: in single; and how many units a result must be expected to move.
_SMALL, _LARGE, _MIN_EXPECTED_UNITS, _EPSILON = 2.0**-38, 2.0**-13, 64.0, 2.0**-52
#: Numbers that are whole after this factor have few digits.
_FEW_DIGITS = 1024.0


#: A value or a gradient, its step and its tensor.
TensorKey = tuple[ClaimKind, int, str]
#: How often the evaluation is repeated.
_TIMES = 8


class CodeNoise:
    """The rounding noise of code at each point, measured once a point.

    With a `forward_engine`, it is the noise of the difference to that. Nondeterministic code and code in lower
    precision get none: that is a mistake of its own."""

    def __init__(self, engine: CodeEngine, forward_engine: CodeEngine | None = None) -> None:
        self.engine, self.forward_engine = engine, forward_engine
        self._known: dict[int, tuple[Point, dict[TensorKey, np.ndarray]]] = {}

    def at(self, point: Point, name: str, what: ClaimKind = ClaimKind.GRADIENT, step: int = 0) -> np.ndarray | None:
        """Return the allowance of each element; None if unknown."""
        if id(point) not in self._known:
            is_none = nondeterminism_of(self.engine, point) or is_less_precise(self.engine, point)
            self._known[id(point)] = (point, {} if is_none else self._measured(point))
        return self._known[id(point)][1].get((what, step, name))

    def largest(self, point: Point, name: str) -> float:
        """Return the largest allowance of a gradient; 0 if unknown."""
        noise = self.at(point, name)
        return 0.0 if noise is None else float(np.max(noise, initial=0.0))

    def allow_rounding(self, c: Comparison, point: Point) -> Comparison:
        """Return a failed comparison as passed if rounding explains it."""
        if c.got_array is None or c.want_array is None or c.mask is None:
            return c
        noise = self.at(point, c.tensor, c.what, c.step)
        if noise is None or noise.shape != c.want_array.shape:
            return c
        again = recheck_with_allowance(c, noise, float("inf"))
        size = float(np.max(noise, initial=0.0))
        return again.with_notes(fact("own_rounding", engine=c.engine, size=size)) if again.status == "passed" else c

    def _measured(self, point: Point) -> dict[TensorKey, np.ndarray]:
        at_rest = _differences(*(_evaluated(one, point.problem, None) for one in (self.engine, self.forward_engine)))
        generator = stream(point.problem.seed, "own noise")
        largest = {key: np.zeros(array.shape) for key, array in at_rest.items()}
        for draw in range(_DRAWS):
            problem = _moved(point.problem, generator)
            forward = _evaluated(self.forward_engine, problem, _DRAWS + draw)
            now = _differences(_evaluated(self.engine, problem, draw), forward)
            for key, array in now.items():
                if key in largest and array.shape == largest[key].shape:
                    with np.errstate(all="ignore"):
                        off = np.nan_to_num(np.abs(array - at_rest[key]), nan=0.0, posinf=0.0)
                    largest[key] = np.maximum(largest[key], off)
        return {key: _MARGIN * np.maximum(a, _LUCK * float(np.max(a, initial=0.0))) for key, a in largest.items()}


def is_less_precise(engine: CodeEngine, point: Point) -> bool:
    """Return whether torch computes in less precision than the dtype."""
    return engine.code.is_torch and bool(engine.less_precision(point.problem))


def ignores_small_changes(engine: CodeEngine, point: Point) -> bool:
    """Return whether most results ignore small, but not large, moves."""
    problem = point.problem
    if epsilon(problem.dtype) != _EPSILON:
        return False
    generator = stream(problem.seed, "deaf")
    state = generator.bit_generator.state
    at_rest, *moved = (engine.values_alone(_scaled(problem, generator, state, by)) for by in (0.0, _SMALL, _LARGE))
    small, large = moved
    should = stays = 0
    for name in point.problem.seeds[0]:
        shapes = {getattr(one.get(name), "shape", None) for one in (at_rest, small, large)}
        if len(shapes) == 1 and None not in shapes:
            rest, near, far = (wide(one[name]) for one in (at_rest, small, large))
            with np.errstate(all="ignore"):
                wanted = np.abs(far - rest) * (_SMALL / _LARGE) > _MIN_EXPECTED_UNITS * _EPSILON * np.abs(rest)
            should += int(np.count_nonzero(wanted))
            stays += int(np.count_nonzero(wanted & (near == rest)))
    return stays > should / 2


def _scaled(problem: Problem, generator: np.random.Generator, state: Any, by: float) -> Problem:
    generator.bit_generator.state = state  # the same direction each time
    inputs = {
        name: np.asarray(array * (1 + by * generator.uniform(-1, 1, array.shape))).astype(array.dtype)
        for name, array in problem.inputs.items()
        if array.dtype.kind in "fc"
    }
    return replace(problem, inputs={**problem.inputs, **inputs})


def _differences(mine: Evaluation | None, other: Evaluation | None) -> dict[TensorKey, np.ndarray]:
    """Return values and gradients, less those of another evaluation."""
    theirs = tensors_of(other)
    found: dict[TensorKey, np.ndarray] = {}
    for key, array in tensors_of(mine).items():
        right = theirs.get(key)
        with np.errstate(all="ignore"):
            found[key] = array if right is None or right.shape != array.shape else np.asarray(array - right)
    return found


def tensors_of(evaluation: Evaluation | None) -> dict[TensorKey, np.ndarray]:
    """Return values and gradients in double precision."""
    return {
        (what, step, name): wide(array)
        for step, state in enumerate(() if evaluation is None else evaluation.states)
        for what, arrays in ((ClaimKind.VALUE, state.values), (ClaimKind.GRADIENT, state.gradients))
        for name, array in arrays.items()
        if array is not None and array.dtype.kind in "fcV"
    }


def _evaluated(engine: CodeEngine | None, problem: Problem, seed: int | None) -> Evaluation | None:
    """Evaluate the problem, in torch with random roundings of this seed."""
    if engine is None or seed is None or not engine.code.is_torch:
        return None if engine is None else engine.evaluate(problem)
    return engine.evaluate_with_noise(problem, seed)


def _moved(problem: Problem, generator: np.random.Generator) -> Problem:
    """Return the problem with inputs moved by a unit in the last place.

    Equal numbers move alike. Numbers with few digits stay: code compares there, and breaking a tie is not rounding.
    """
    unit = epsilon(problem.dtype)
    given = {name: wide(array) for name, array in problem.inputs.items() if array.dtype.kind in "fcV"}
    known = np.unique(np.concatenate([np.zeros(0), *(array.ravel() for array in given.values())]))
    with np.errstate(all="ignore"):
        is_short = known * _FEW_DIGITS == np.round(known * _FEW_DIGITS)
        moved = np.where(is_short, known, known * (1 + unit * generator.uniform(-1, 1, known.shape)))
    inputs = {name: _like(moved[np.searchsorted(known, array)], problem.inputs[name]) for name, array in given.items()}
    return replace(problem, inputs={**problem.inputs, **inputs})


def _like(numbers: np.ndarray, array: np.ndarray) -> np.ndarray:
    """Return real or complex numbers in the dtype of an array."""
    return np.asarray(numbers if array.dtype.kind == "c" else numbers.real).astype(array.dtype)


def nondeterminism_of(engine: CodeEngine, point: Point) -> float:
    """Return the relative difference of evaluations; 0 within rounding.

    Code that draws random numbers, or keeps state from call to call, differs by more."""
    first = point.evaluation(engine)
    for _ in range(_TIMES):
        size = largest_difference(first, engine.evaluate(point.problem), as_a_whole=True)
        if exceeds_rounding(size, 1.0, point.problem.dtype):
            return size
    return 0.0


def largest_difference(one: Evaluation, other: Evaluation, as_a_whole: bool = False) -> float:
    """Return the largest relative difference of two evaluations.

    Relative to each element, or `as_a_whole` to the largest of its tensor; infinite if shapes differ."""
    if len(one.states) != len(other.states):
        return float("inf")
    largest = 0.0
    for mine, theirs in zip(one.states, other.states, strict=True):
        for left, right in ((mine.values, theirs.values), (mine.gradients, theirs.gradients)):
            for name, a in left.items():
                b = right.get(name)
                if a is None or b is None:
                    largest = max(largest, 0.0 if a is b else float("inf"))
                elif a.shape != b.shape:
                    return float("inf")
                elif dtypes.is_differentiable(a.dtype) and a.tobytes() != b.tobytes():
                    x, y = dtypes.wide(a), dtypes.wide(b)
                    with np.errstate(all="ignore"):
                        size = np.maximum(np.abs(x), np.abs(y))
                        if as_a_whole:
                            size = np.max(size, where=np.isfinite(size), initial=0.0)
                        part = np.where((x == y) | (np.isnan(x) & np.isnan(y)), 0.0, np.abs(x - y) / size)
                    largest = max(largest, float(np.nanmax(part, initial=0.0)))
    return largest
