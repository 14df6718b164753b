"""How much rounding there is in code and in its own forward, measured: inputs are moved by a unit in the last place,
and torch's ops round otherwise. What a mistake adds stays where it is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcheck.autograd.dtypes import wide
from gradcheck.checks.claim_kind import ClaimKind
from gradcheck.checks.closeness.rounding import recheck_with_allowance
from gradcheck.checks.closeness.tolerance import epsilon
from gradcheck.checks.implementations.nondeterminism import nondeterminism_of
from gradcheck.checks.points.point import Point
from gradcheck.checks.result import Comparison
from gradcheck.engines.base import Evaluation
from gradcheck.facts import fact
from gradcheck.language.problem import Problem
from gradcheck.language.random_streams import stream

if TYPE_CHECKING:
    from gradcheck.engines.implementation.code_engine import CodeEngine

#: How often it is asked, and how many times the noise is allowed.
_DRAWS, _MARGIN = 6, 8.0
#: Elements that have luck in these draws are taken to be as noisy as this part of the noisiest.
_LUCK = 1e-6
#: By these parts of them inputs are moved, to see whether results answer: many units in the last place of double
#: precision, none of single; and so many units at least they must be about to move.
_SMALL, _LARGE, _MIN_EXPECTED_UNITS, _EPSILON = 2.0**-38, 2.0**-13, 64.0, 2.0**-52
#: Numbers that are whole, times this, are of few digits.
_FEW_DIGITS = 1024.0


_Key = tuple[ClaimKind, int, str]


class CodeNoise:
    """What rounding may make of each value and gradient, at each point where something differs; measured once a point.
    Where there is a `witness`, it is that of the difference to it. Nothing of code that chance decides, or that
    computes in less precision than its dtype has: that is a mistake of its own."""

    def __init__(self, engine: CodeEngine, witness: CodeEngine | None = None) -> None:
        self.engine, self.forward_engine = engine, witness
        self._known: dict[int, tuple[Point, dict[_Key, np.ndarray]]] = {}

    def at(self, point: Point, name: str, what: ClaimKind = ClaimKind.GRADIENT, step: int = 0) -> np.ndarray | None:
        """What is allowed of each element; None where nothing can be said."""
        if id(point) not in self._known:
            is_none = nondeterminism_of(self.engine, point) or is_less_precise(self.engine, point)
            self._known[id(point)] = (point, {} if is_none else self._measured(point))
        return self._known[id(point)][1].get((what, step, name))

    def allow_rounding(self, c: Comparison, point: Point) -> Comparison:
        """One comparison again that failed at a point: passed, with a note, where rounding explains it."""
        if c.got_array is None or c.want_array is None or c.mask is None:
            return c
        noise = self.at(point, c.tensor, c.what, c.step)
        if noise is None or noise.shape != c.want_array.shape:
            return c
        again = recheck_with_allowance(c, noise, float("inf"))
        size = float(np.max(noise, initial=0.0))
        return again.with_notes(fact("own_rounding", engine=c.engine, size=size)) if again.status == "passed" else c

    def _measured(self, point: Point) -> dict[_Key, np.ndarray]:
        at_rest = self._arrays(self.engine.evaluate(point.problem), self._answer(point.problem, None))
        generator = stream(point.problem.seed, "own noise")
        largest = {key: np.zeros(array.shape) for key, array in at_rest.items()}
        for draw in range(_DRAWS):
            problem = _moved(point.problem, generator)
            now = self._arrays(_evaluate_with_noise(self.engine, problem, draw), self._answer(problem, _DRAWS + draw))
            for key, array in now.items():
                if key in largest and array.shape == largest[key].shape:
                    with np.errstate(all="ignore"):
                        off = np.nan_to_num(np.abs(array - at_rest[key]), nan=0.0, posinf=0.0)
                    largest[key] = np.maximum(largest[key], off)
        return {key: _MARGIN * np.maximum(a, _LUCK * float(np.max(a, initial=0.0))) for key, a in largest.items()}

    def _answer(self, problem: Problem, seed: int | None) -> Evaluation | None:
        if self.forward_engine is None:
            return None
        return (
            self.forward_engine.evaluate(problem)
            if seed is None
            else _evaluate_with_noise(self.forward_engine, problem, seed)
        )

    def _arrays(self, mine: Evaluation, other: Evaluation | None) -> dict[_Key, np.ndarray]:
        """Values and gradients, less those of the witness."""
        found: dict[_Key, np.ndarray] = {}
        theirs = {} if other is None else dict(_tensors_of(other))
        for key, array in _tensors_of(mine):
            right = theirs.get(key)
            with np.errstate(all="ignore"):
                fits = right is not None and right.shape == array.shape
                found[key] = np.asarray(array - right if fits else array)
        return found


def is_less_precise(engine: CodeEngine, point: Point) -> bool:
    """Whether torch computes something in less precision than the point's dtype has."""
    return engine.code.is_torch and bool(engine.less_precision(point.problem))


def ignores_small_changes(engine: CodeEngine, point: Point) -> bool:
    """Whether most results of code in double precision stay as they are where inputs are moved by many units in the
    last place, though by larger moves they change."""
    problem = point.problem
    if epsilon(problem.dtype) != _EPSILON:
        return False
    generator = stream(problem.seed, "deaf")
    state = generator.bit_generator.state
    still, *moved = (engine.values_alone(_scaled(problem, generator, state, by)) for by in (0.0, _SMALL, _LARGE))
    small, large = moved
    should = stays = 0
    for name in point.problem.seeds[0]:
        if name in still and still[name].shape == getattr(small.get(name), "shape", 0) == getattr(
            large.get(name), "shape", 0
        ):
            rest, near, far = (wide(one[name]) for one in (still, small, large))
            with np.errstate(all="ignore"):
                wanted = np.abs(far - rest) * (_SMALL / _LARGE) > _MIN_EXPECTED_UNITS * _EPSILON * np.abs(rest)
            should += int(np.count_nonzero(wanted))
            stays += int(np.count_nonzero(wanted & (near == rest)))
    return stays > should / 2


def _scaled(problem: Problem, generator: np.random.Generator, state: Any, by: float) -> Problem:
    generator.bit_generator.state = state  # the same way each time
    inputs = {
        name: np.asarray(array * (1 + by * generator.uniform(-1, 1, array.shape))).astype(array.dtype)
        for name, array in problem.inputs.items()
        if array.dtype.kind in "fc"
    }
    return replace(problem, inputs={**problem.inputs, **inputs})


def _tensors_of(evaluation: Evaluation) -> Iterator[tuple[_Key, np.ndarray]]:
    for step, state in enumerate(evaluation.states):
        for what, arrays in ((ClaimKind.VALUE, state.values), (ClaimKind.GRADIENT, state.gradients)):
            for name, array in arrays.items():
                if array is not None and array.dtype.kind in "fcV":
                    yield (what, step, name), wide(array)


def _evaluate_with_noise(engine: CodeEngine, problem: Problem, seed: int) -> Evaluation:
    return engine.evaluate_with_noise(problem, seed) if engine.code.is_torch else engine.evaluate(problem)


def _moved(problem: Problem, generator: np.random.Generator) -> Problem:
    """Its inputs moved by a unit in the last place, equal numbers alike; those of few digits stay, for it is there that
    code compares: a tie that breaks is no rounding."""
    unit = epsilon(problem.dtype)
    given = {name: wide(array) for name, array in problem.inputs.items() if array.dtype.kind in "fcV"}
    known = np.unique(np.concatenate([np.zeros(0), *(array.ravel() for array in given.values())]))
    with np.errstate(all="ignore"):
        is_short = known * _FEW_DIGITS == np.round(known * _FEW_DIGITS)
        moved = np.where(is_short, known, known * (1 + unit * generator.uniform(-1, 1, known.shape)))
    inputs = {
        name: np.asarray(moved[np.searchsorted(known, array)]).astype(problem.inputs[name].dtype)
        for name, array in given.items()
    }
    return replace(problem, inputs={**problem.inputs, **inputs})
