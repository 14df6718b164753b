"""The points for code without a specification.

They are the given inputs, drawn ones, other sizes of given arrays, and numbers near the code's constants. The file
does not say which sizes belong together, so equal sizes vary together. A point is not usable if the code raises, or
if its results' sizes do not vary alike. An error by exactly the ratio of two sizes does not count: that code is
written for the given size.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.dtypes import wide
from gradcheck.checks.closeness.tolerance import base
from gradcheck.checks.options import Engines
from gradcheck.checks.points.point import Point
from gradcheck.checks.result import Comparison, Trial
from gradcheck.errors import GradcheckError
from gradcheck.language.case import Case, Step
from gradcheck.language.problem import Problem
from gradcheck.language.random_streams import stream
from gradcheck.language.sampling import draw
from gradcheck.language.trial_draws import NO_VARIATION, Variation, symbolic_sizes

if TYPE_CHECKING:
    from gradcheck.engines.implementation.code_engine import CodeEngine

#: The trial and the variation of literals, for each point; the first is the given one.
_DRAWN: tuple[tuple[int | None, Variation], ...] = (
    (None, NO_VARIATION),
    (0, Variation("near")),
    (1, Variation("anywhere")),
    (2, NO_VARIATION),
    (None, Variation("near", structure="whole")),
    (None, Variation("near", structure="huge")),
)
#: Powers of a size ratio that count as written for one size, and their tolerance.
_POWERS, _NEAR = (-2, -1, 1, 2), 1e-6
#: Numbers in code up to this may mean anything.
_MAX_AMBIGUOUS_SIZE = 4
#: How many sizes are set to 1 in turn.
_MOST_SIZES = 4
#: The range of constants that may be thresholds, and factors for numbers beside them.
_THRESHOLDS, _BESIDE = (1e-12, 1e6), (0.5, 0.9, 1.1, 2.0)
_MOST_CONSTANTS, _MOST_POINTS = 6, 3
_Shapes = Mapping[str, tuple[int, ...]]


@dataclass(slots=True)
class SelfConsistencyPoints:
    """Creates all points for one implementation."""

    case: Case
    engine: CodeEngine
    engines: Engines
    _size_ratios: dict[int, tuple[float, ...]] = field(default_factory=dict)  # by trial, the ratios of changed sizes

    def all(self) -> Iterator[Point]:
        """Yield the given inputs, then other points, with random cotangents.

        Others that cannot be evaluated are left out.

        Raises GradcheckError if the given inputs cannot be evaluated.
        """
        own: Problem | None = None
        for number, (trial, variation) in enumerate(_DRAWN):
            try:
                problem = draw(replace(self.case, steps=()), self.case.seed, trial, variation=variation)
            except GradcheckError:
                continue
            made = self._with_random_seeds(problem, is_given=not number)
            own = made if own is None else own
            if own is None:
                raise GradcheckError(f"{self.engine.name} cannot be evaluated")
            if made is not None:
                point = Point(made, self.engines, self._trial(number, made) if number else None)
                if not number or not (_has_new_signs(made, own) and self._is_undefined(point)):
                    yield point
        assert own is not None
        yield from self._extra_points(own, len(_DRAWN))

    def _extra_points(self, own: Problem, number: int) -> Iterator[Point]:
        """Yield points for which the code must not raise."""
        shapes = {} if symbolic_sizes(self.case) else self._shapes(own)
        written = {abs(one) for one in self.engine.code.constants}
        problems = [(_resized(own, sizes), sizes) for sizes in _sizes(own, written)] if shapes else []
        problems += [(one, {}) for one in _problems_near_thresholds(own, self.engine.code.constants)]
        for place, (problem, sizes) in enumerate(problems):
            made = self._with_random_seeds(problem, is_given=False)
            if made is None or (sizes and not _vary_alike(shapes, self._shapes(made), sizes)):
                continue
            self._size_ratios[number + place] = tuple(size / now for size, now in sizes.items() if now != size)
            point = Point(made, self.engines, self._trial(number + place, made, sizes))
            found = point.evaluation(self.engine)
            if found.error is None and not any(state.error for state in found.states):
                yield point

    def has_size_dependent_errors(self, trial: Trial | None, found: Sequence[Comparison]) -> bool:
        """Return whether all errors are powers of a size ratio."""
        ratios = () if trial is None else self._size_ratios.get(trial.number, ())
        wanted = [ratio**power for ratio in {*ratios, math.prod(ratios)} for power in _POWERS if ratio != 1]
        failed = [c for c in found if c.status == "failed"]
        return bool(wanted) and all(_is_off_by(c, wanted) for c in failed)

    def _is_undefined(self, point: Point) -> bool:
        found = [g for state in point.evaluation(self.engine).states for g in state.gradients.values()]
        return not all(g is None or np.isfinite(wide(g)).all() for g in found)

    def _trial(self, number: int, made: Problem, sizes: Mapping[int, int] | None = None) -> Trial:
        changed = {f"n{size}": now for size, now in (sizes or {}).items() if now != size}
        return Trial(number, made.seed, changed or made.sizes, problem=made)

    def _shapes(self, problem: Problem) -> _Shapes:
        return {name: g.shape for name, g in problem.seeds[0].items() if g is not None}

    def _with_random_seeds(self, problem: Problem, is_given: bool) -> Problem | None:
        """Return the problem with random cotangents; None if the code raises."""
        values, entry = self.engine.values_alone(problem), self.engine.entry
        own = {n: a for n, a in values.items() if n.partition("[")[0] == entry and dtypes.is_differentiable(a.dtype)}
        generator = stream(problem.seed, "incoming", problem.draw_settings.trial or 0)
        seeds = {
            name: np.asarray(generator.standard_normal(array.shape)).astype(array.dtype) for name, array in own.items()
        }
        finite = all(np.isfinite(wide(array)).all() for array in own.values())
        if not seeds or not (finite or is_given):
            return None
        case = replace(problem.case, steps=(Step("backward", roots=dict.fromkeys(seeds)),))
        return replace(problem, case=case, seeds=(seeds,), forwards=({},))


def _has_new_signs(problem: Problem, own: Problem) -> bool:
    """Return whether some input has signs that the given one has not.

    The code may be meant for the given signs only."""
    for name, array in problem.inputs.items():
        if array.dtype.kind in "fV" and array.size and own.inputs[name].size:
            now, given = np.sign(wide(array)), np.sign(wide(own.inputs[name]))
            if now.min() < given.min() or now.max() > given.max():
                return True
    return False


def _sizes(problem: Problem, written: set[float]) -> Iterator[Mapping[int, int]]:
    """Yield changed sizes: each set to 1 in turn, then all equal.

    Sizes among the code's constants stay, unless they are small."""
    arrays = (*problem.inputs.values(), *problem.constants.values())
    sizes = sorted({size for array in arrays for size in array.shape if size > 1})
    known = [size for size in sizes if size <= _MAX_AMBIGUOUS_SIZE or written.isdisjoint((size, 1 / size))]
    for one in known[:_MOST_SIZES]:
        yield {size: 1 if size == one else size for size in known}
    if len(known) > 1:
        yield dict.fromkeys(known, known[0])


def _resized(problem: Problem, sizes: Mapping[int, int]) -> Problem:
    def resized(array: np.ndarray) -> np.ndarray:
        for dim, size in enumerate(array.shape):
            array = np.take(array, np.arange(sizes.get(size, size)) % size, axis=dim) if size in sizes else array
        return array

    inputs, constants = ({n: resized(a) for n, a in part.items()} for part in (problem.inputs, problem.constants))
    return replace(problem, inputs=inputs, constants=constants)


def _is_off_by(c: Comparison, factors: Sequence[float]) -> bool:
    got, want = (c.got, c.want) if c.got_array is None or c.want_array is None else (c.got_array, c.want_array)
    if got is None or want is None or np.shape(got) != np.shape(want):
        return False
    mine, right = wide(np.asarray(got)), wide(np.asarray(want))
    tolerance = _NEAR if c.want_array is None else max(_NEAR, 4 * base(c.want_array.dtype).rtol)
    return any(np.allclose(mine * by, right, rtol=tolerance, atol=0) for by in factors)


def _vary_alike(before: _Shapes, after: _Shapes, sizes: Mapping[int, int]) -> bool:
    """Return whether the results' sizes change as the arguments' do."""
    if before.keys() != after.keys():
        return False
    pairs = [(before[name], after[name]) for name in before]
    if not all(len(b) == len(a) and 0 not in a for b, a in pairs):
        return False
    return all(sizes.get(size, now) == now for b, a in pairs for size, now in zip(b, a, strict=True))


def _problems_near_thresholds(problem: Problem, constants: Sequence[float]) -> Iterator[Problem]:
    """Yield problems with all numbers near the code's constants.

    Signs are those given. Each constant is used in each element of the smallest input."""
    low, high = _THRESHOLDS
    known = sorted({abs(one) for one in constants if low < abs(one) < high})[:_MOST_CONSTANTS]
    given = {name: array for name, array in problem.inputs.items() if array.size}
    if not known or not given or any(array.dtype.kind not in "fV" for array in given.values()):
        return
    beside = np.outer(known, _BESIDE).ravel()
    least = min(array.size for array in given.values())
    for number in range(min(-(-beside.size // least), _MOST_POINTS)):
        generator = stream(problem.seed, "thresholds", number)
        inputs = {}
        for name, array in given.items():
            signs = np.unique(np.sign(wide(array)))
            signs = signs[signs != 0] if np.any(signs) else np.ones(1)
            numbers = np.resize(np.roll(beside, -number * least), array.size)
            moved = generator.permutation(numbers).reshape(array.shape) * generator.choice(signs, array.shape)
            inputs[name] = np.asarray(moved).astype(array.dtype)
        yield replace(problem, inputs={**problem.inputs, **inputs})
