"""Measure how far repeated evaluations of code differ.

Code that draws random numbers, or keeps state from call to call, differs by more than rounding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.checks.implementations.second_order import exceeds_rounding
from gradcheck.checks.points.point import Point
from gradcheck.engines.base import Evaluation

if TYPE_CHECKING:
    from gradcheck.engines.implementation.code_engine import CodeEngine

#: How often the evaluation is repeated.
_TIMES = 8


def nondeterminism_of(engine: CodeEngine, point: Point) -> float:
    """Return the relative difference of evaluations; 0 within rounding."""
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
                    largest = max(largest, _largest_part(x, y, as_a_whole))
    return largest


def _largest_part(one: np.ndarray, other: np.ndarray, as_a_whole: bool) -> float:
    with np.errstate(all="ignore"):
        size = np.maximum(np.abs(one), np.abs(other))
        if as_a_whole:
            size = np.max(size, where=np.isfinite(size), initial=0.0)
        part = np.where((one == other) | (np.isnan(one) & np.isnan(other)), 0.0, np.abs(one - other) / size)
    return float(np.nanmax(part, initial=0.0))
