"""The points for code without a specification.

An array that is given is a point, and stays as it is. A shape or a creator is a domain: other numbers and sizes are
drawn from it, and numbers near the code's constants. Drawn points outside the code's domain are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.dtypes import wide
from gradcheck.checks.implementations.code_thresholds import MAX_BLOCK_ELEMENTS, block_sizes
from gradcheck.checks.options import Engines
from gradcheck.checks.points.point import Point, Refusal, refusal_at
from gradcheck.checks.result import Trial
from gradcheck.engines.implementation.code_engine import CodeEngine
from gradcheck.errors import GradcheckError
from gradcheck.language.case import Case, Step
from gradcheck.language.problem import Problem
from gradcheck.language.random_streams import is_unbounded, stream
from gradcheck.language.sampling import draw
from gradcheck.language.trial_draws import (
    LAST_ATTEMPT,
    NO_VARIATION,
    Variation,
    can_vary_in_trials,
    listed_sizes,
    redraw_literal,
    symbolic_sizes,
)

#: The trial and the structure of numbers, for each drawn point.
_DRAWN: tuple[tuple[int | None, Variation], ...] = (
    (0, NO_VARIATION),
    (1, NO_VARIATION),
    (2, NO_VARIATION),
    (None, Variation(structure="whole")),
    (None, Variation(structure="huge")),
)
#: Attempts at a trial that the code refuses: the drawn sizes, half of the sizes its own, all of them.
_ATTEMPTS = (0, 6, LAST_ATTEMPT)
#: The range of constants that may be thresholds, and factors for numbers beside them.
_THRESHOLDS, _BESIDE = (1e-12, 1e6), (0.5, 0.9, 1.1, 2.0)
_MOST_CONSTANTS, _MOST_POINTS = 6, 3


@dataclass(slots=True)
class SelfConsistencyPoints:
    """Creates all points for one implementation."""

    case: Case
    engine: CodeEngine
    engines: Engines
    refusals: list[Refusal]  # drawn points outside the code's domain
    _given: Problem = field(init=False)

    def all(self) -> Iterator[Point]:
        """Yield the given inputs, then drawn points, with random cotangents.

        If the code raises for the given inputs, they are the only point.

        Raises GradcheckError if it returns no tensor of floating numbers for them.
        """
        own = self._draw(None, NO_VARIATION, 0)
        made = None if own is None else self._with_random_seeds(own, is_given=True)
        if made is None:
            if own is None or not self.engine.refusal(own):
                raise GradcheckError(f"{self.engine.name} returns nothing that a gradient could be taken of")
            case = replace(own.case, steps=(Step("backward"),))
            yield Point(replace(own, case=case, seeds=({},), forwards=({},)), self.engines)
            return
        self._given = made
        yield Point(made, self.engines, None)
        if can_vary_in_trials(self.case):
            drawn = (self._drawn_point(number, *one) for number, one in enumerate(_DRAWN, 1))
            near = self._points_near_constants(made, 1 + len(_DRAWN))
            for point in (*filter(None, drawn), *near):
                if not (_has_new_signs(point.problem, made) and self._is_undefined(point)):
                    yield point

    def _draw(self, trial: int | None, variation: Variation, attempt: int) -> Problem | None:
        try:
            return draw(replace(self.case, steps=()), self.case.seed, trial, attempt=attempt, variation=variation)
        except GradcheckError:
            return None

    def _drawn_point(self, number: int, trial: int | None, variation: Variation) -> Point | None:
        """Return the point of the first attempt at which the code does not raise."""
        for attempt in _ATTEMPTS if trial is not None else (0,):
            problem = self._draw(trial, variation, attempt)
            point = None if problem is None else self._accepted(problem, number)
            if point is not None:
                return point
        return None

    def _points_near_constants(self, own: Problem, number: int) -> Iterator[Point]:
        near = (*_problems_near_thresholds(own, self.engine.code.constants), *self._problems_beyond_blocks(own))
        for place, problem in enumerate(near):
            point = self._accepted(problem, number + place)
            if point is not None:
                yield point

    def _accepted(self, problem: Problem, number: int) -> Point | None:
        """Return the point of a drawn problem; None if the code raises there."""
        made = self._with_random_seeds(problem, is_given=False)
        if made is None:
            return None
        point = Point(made, self.engines, Trial(number, made.seed, made.sizes, problem=made))
        found = refusal_at(point, self.engine, self._given)
        self.refusals += [] if found is None else [found]
        return None if found is not None else point

    def _problems_beyond_blocks(self, own: Problem) -> Iterator[Problem]:
        """Yield problems with each size of a shape beyond a block."""
        largest = max((array.size for array in own.inputs.values()), default=1)
        words = [word for word in symbolic_sizes(self.case) if word not in listed_sizes(self.case)]
        for block in block_sizes(self.engine.code.constants):
            for word in words:
                if largest // max(own.sizes[word], 1) * block <= MAX_BLOCK_ELEMENTS:
                    sizes = {**own.sizes, word: block + 3}
                    with suppress(GradcheckError):
                        yield draw(replace(self.case, steps=()), self.case.seed, 0, attempt=1, sizes=sizes)

    def _is_undefined(self, point: Point) -> bool:
        found = [g for state in point.evaluation(self.engine).states for g in state.gradients.values()]
        return not all(g is None or np.isfinite(wide(g)).all() for g in found)

    def _with_random_seeds(self, problem: Problem, is_given: bool) -> Problem | None:
        """Return the problem with random cotangents; None if the code raises."""
        values, entry = self.engine.values_alone(problem), self.engine.entry
        if not values and not is_given:
            self.refusals.append(Refusal(self.engine.refusal(problem), problem.sizes))
        own = {n: a for n, a in values.items() if n.partition("[")[0] == entry and dtypes.is_differentiable(a.dtype)}
        # like torch's gradcheck, take results without a gradient as constant
        if len(own) > 1 and self.engine.code.is_torch:
            moving = self.engine.differentiable_results(problem)
            own = {name: array for name, array in own.items() if name in moving} or own
        generator = stream(problem.seed, "incoming", problem.draw_settings.trial or 0)
        seeds = {name: redraw_literal(array, array.shape, generator) for name, array in own.items()}
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


def _problems_near_thresholds(problem: Problem, constants: Sequence[float]) -> Iterator[Problem]:
    """Yield problems with unbounded numbers near constants of the code.

    Signs are those given. Each constant is used in each element of the smallest input."""
    low, high = _THRESHOLDS
    known = sorted({abs(one) for one in constants if low < abs(one) < high})[:_MOST_CONSTANTS]
    stated = problem.case.inputs
    given = {name: array for name, array in problem.inputs.items() if array.size and is_unbounded(stated[name])}
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
