"""Drawn points that say nothing: where the graph is undefined, or where rounding decides what it comes to.

Asked only where something differs at a point that nobody chose. What a case's own numbers are like is its own affair.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from gradcheck.autograd.dtypes import HALVES, wide
from gradcheck.checks.closeness.tolerance import epsilon
from gradcheck.checks.points import Point, Points, unusable
from gradcheck.checks.result import UNSETTLED, Comparison
from gradcheck.engines.base import Evaluation
from gradcheck.errors import GradcheckError
from gradcheck.facts import Fact, fact
from gradcheck.language.random import stream
from gradcheck.language.sampling import draw

#: Inputs are moved by so many units in the last place, by one in half precision, so often; values that move by more
#: than this part, and so many times as much as the inputs, are noise.
_UNITS, _TIMES, _NOISE, _RATIO = 16.0, 2, 1e-3, 32.0


def hopeless(point: Point, found: Iterable[Comparison]) -> Fact | None:
    """Why what differs at a drawn point says nothing; None where it does, or nothing differs."""
    differing = [c for c in found if c.status in UNSETTLED]
    if not differing:
        return None
    if not is_finite(point.want):
        return fact("not_finite_here")
    if any(c.status == "undecided" for c in differing) or _is_noise(point):
        return fact("ill_conditioned_here")
    return None


def says_something(points: Points, sizes: Mapping[str, int]) -> bool | None:
    """Whether a point of these sizes would; None where none can be drawn."""
    own = points.own.problem
    try:
        point = Point(draw(own.case, own.seed, 0, sizes=sizes), points.engines)
    except GradcheckError:
        return None
    if unusable(point):
        return False if point.want.error is not None and point.want.error.kind == "domain_error" else None
    return is_finite(point.want) and not _is_noise(point)


def is_finite(evaluation: Evaluation) -> bool:
    """Whether all values and gradients are finite numbers."""
    held = (array for state in evaluation.states for part in (state.values, state.gradients) for array in part.values())
    return all(bool(np.all(np.isfinite(wide(a)))) for a in held if a is not None and a.dtype.kind in "fcV")


def _is_noise(point: Point) -> bool:
    """Whether the last places of the inputs decide a value. Values are continuous where gradients have kinks."""
    problem = point.problem
    unit = (1.0 if problem.dtype in HALVES else _UNITS) * epsilon(problem.dtype)
    noise = max(_NOISE, _RATIO * unit)
    generator = stream(problem.seed, "last places")

    def moved(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {
            name: np.asarray(wide(array) * (1 + unit * generator.uniform(-1, 1, array.shape))).astype(array.dtype)
            if array.dtype.kind in "fcV"
            else array
            for name, array in arrays.items()
        }

    for _ in range(_TIMES):
        there = replace(
            problem, inputs=moved(problem.inputs), forwards=tuple(moved(arrays) for arrays in problem.forwards)
        )
        again = point.engines.reference.evaluate(there)
        if len(again.states) != len(point.want.states):
            return True
        for state, other in zip(point.want.states, again.states, strict=True):
            if any(_moves(array, other.values.get(name), noise) for name, array in state.values.items()):
                return True
    return False


def _moves(before: np.ndarray, after: np.ndarray | None, noise: float) -> bool:
    if after is None or before.dtype.kind not in "fcV" or before.shape != after.shape or not before.size:
        return False
    old, new = wide(before), wide(after)
    far = np.max(np.abs(new - old))
    return bool(not far <= noise * np.max(np.abs(old)))
