"""Measure the rounding of code that has an entry as its specification.

Inputs move a little, and the code is compared with its entry in double precision at the same inputs. Rounding changes
the difference from draw to draw; a mistake does not. Code in lower precision rounds more as well. torch shows that by
the ops it runs; in other libraries, results do not respond to small changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property

import numpy as np

from gradcheck.autograd.dtypes import wide
from gradcheck.checks.closeness.rounding import recheck_with_allowance
from gradcheck.checks.closeness.tolerance import epsilon
from gradcheck.checks.context import Context
from gradcheck.checks.implementations.code_noise import CodeNoise, TensorKey, nondeterminism_of, tensors_of
from gradcheck.checks.points.point import Point
from gradcheck.checks.result import Comparison
from gradcheck.engines.base import Engine, Evaluation
from gradcheck.engines.define_by_run import DefineByRun
from gradcheck.engines.double_precision import double_precision_backend, double_precision_problem
from gradcheck.engines.implementation.code_engine import CodeEngine
from gradcheck.facts import fact
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.language.problem import Problem
from gradcheck.language.random_streams import stream

#: The number of draws, and the allowance in units of the noise.
_DRAWS, _MARGIN = 6, 8.0
#: Halves move by so many units in the last place, others by the root of the unit.
_UNITS, _HALF = 2.0, 1e-5
#: Inputs move by so many units in the last place, and this part of results must respond.
_ANSWERS, _MOST = 2.0**12, 0.5
#: Elements that hardly move by chance get this part of the largest noise.
_LUCK = 1e-3
_MEASURED = (ClaimKind.VALUE, ClaimKind.GRADIENT)


class CodeRounding:
    """The rounding of one implementation, measured where something differs."""

    def __init__(self, context: Context, engine: CodeEngine) -> None:
        self.context, self.engine = context, engine
        self._measured: dict[int, tuple[Point, dict[TensorKey, np.ndarray], dict[TensorKey, np.ndarray]]] = {}
        self._half_precision_noise = CodeNoise(engine)  # in half precision ops round more than moved inputs show

    @cached_property
    def _is_less_precise(self) -> bool:
        return _is_less_precise(self.context.points.own, self.engine)

    def allow_all(self) -> None:
        """Pass the failures that the code's own rounding explains."""
        for place, c in enumerate(self.context.found):
            if c.is_failing:
                self.context.found[place] = self.allow_rounding(c, self.context.points.at(c.trial))

    def allow_rounding(self, c: Comparison, point: Point) -> Comparison:
        """Return a comparison as passed if rounding explains it."""
        got, want = c.got_array, c.want_array
        if c.what not in _MEASURED or c.mask is None or got is None or want is None or got.shape != want.shape:
            return c
        if self._is_less_precise:
            return c
        if id(point) not in self._measured:
            noises = {} if nondeterminism_of(self.engine, point) else _noise(point, self.engine)
            self._measured[id(point)] = (point, noises, _precise_answers(point.engines.reference, point.problem))
        _, noises, precise = self._measured[id(point)]
        key = (c.what, c.step, c.tensor)
        noise = noises.get(key)
        if noise is None or noise.shape != got.shape:
            return c
        # the reference's own rounding in low precision is no fault of the code
        again = recheck_with_allowance(replace(c, status="failed"), _MARGIN * noise, float("inf"), precise.get(key))
        if again.status != "passed":
            is_half = got.dtype.itemsize == 2 and self.engine.code.is_torch
            return self._half_precision_noise.allow_rounding(c, point) if is_half else c
        return again.with_notes(fact("own_rounding", engine=c.engine, size=float(np.max(noise, initial=0.0))))


def _is_less_precise(point: Point, engine: CodeEngine) -> bool:
    if engine.code.is_torch:
        return bool(engine.less_precision(point.problem))
    generator = stream(point.problem.seed, "precision")
    moved = _moved(point.problem, generator, _ANSWERS * epsilon(point.problem.dtype))
    before, after = point.evaluation(engine), engine.evaluate(moved)
    want, then = point.want, point.engines.reference.evaluate(moved)
    for what in ("values", "gradients"):
        for name, at_rest in _last(before, what).items():
            arrays = (at_rest, _last(after, what).get(name), _last(want, what).get(name), _last(then, what).get(name))
            if (name not in point.problem.inputs or what == "gradients") and _ignores_changes(*arrays):
                return True
    return False


def _last(evaluation: Evaluation, what: str) -> Mapping[str, np.ndarray | None]:
    if not evaluation.states:
        return {}
    return evaluation.states[-1].values if what == "values" else evaluation.states[-1].gradients


def _ignores_changes(
    one: np.ndarray | None, other: np.ndarray | None, want: np.ndarray | None, then: np.ndarray | None
) -> bool:
    """Return whether most elements stay although they should move."""
    if one is None or other is None or want is None or then is None or not one.shape == other.shape == then.shape:
        return False
    if one.dtype.kind not in "fcV" or want.shape != then.shape or one.shape != want.shape:
        return False
    moves = wide(want) != wide(then)
    stays = moves & (wide(one) == wide(other))
    return bool(moves.any()) and float(stays.sum()) > _MOST * float(moves.sum())


def _noise(point: Point, engine: CodeEngine) -> dict[TensorKey, np.ndarray]:
    """Return the spread of the code's errors by value and gradient."""
    reference = point.engines.reference
    found: dict[TensorKey, list[np.ndarray]] = {}
    generator, unit = stream(point.problem.seed, "own rounding"), epsilon(point.problem.dtype)
    last_places: dict[TensorKey, float] = {}  # of the largest elements: where `1 + tanh(x)` is 0, no draw moves it
    for _ in range(_DRAWS):
        problem = _moved(point.problem, generator, float(np.sqrt(unit)) if unit < _HALF else _UNITS * unit)
        theirs = _precise_answers(reference, problem)
        for key, mine in tensors_of(engine.evaluate(problem)).items():
            if key in theirs and mine.shape == theirs[key].shape:
                with np.errstate(all="ignore"):
                    found.setdefault(key, []).append(np.asarray(mine - theirs[key]))
                last_places[key] = unit * float(np.max(np.abs(mine), where=np.isfinite(mine), initial=0.0))
    complete = ((key, np.stack(listed)) for key, listed in found.items() if len(listed) == _DRAWS)
    return {key: np.maximum(_spread(draws), last_places[key]) for key, draws in complete}


def _precise_answers(reference: Engine, problem: Problem) -> dict[TensorKey, np.ndarray]:
    """Return the reference's values and gradients in double precision."""
    if not isinstance(reference, DefineByRun):
        return {}
    return tensors_of(double_precision_backend(reference).evaluate(double_precision_problem(problem)))


def _spread(draws: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        spread = np.asarray(np.max(np.abs(draws - draws.mean(axis=0)), axis=0))
    finite = spread[np.isfinite(spread)]
    floor = _LUCK * float(finite.max()) if finite.size else 0.0
    return np.where(np.isfinite(spread), np.maximum(spread, floor), 0.0)


def _moved(problem: Problem, generator: np.random.Generator, reach: float) -> Problem:
    def moved(array: np.ndarray) -> np.ndarray:
        if array.dtype.kind not in "fcV":
            return array
        factors = 1 + reach * generator.uniform(-1, 1, array.shape)
        return np.asarray(wide(array) * factors).astype(array.dtype)

    def all_moved(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {name: moved(array) for name, array in arrays.items()}

    return replace(problem, inputs=all_moved(problem.inputs), forwards=tuple(map(all_moved, problem.forwards)))
