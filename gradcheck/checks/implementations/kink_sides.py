"""Derivatives on the sides of a kink among equal elements.

Sorting, ranking and maxima choose among equal elements. The gradient of any choice is right. It is a derivative
beside the kink, though perhaps in no direction along one element.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gradcheck.autograd.dtypes import largest_finite
from gradcheck.checks.implementations.code_gradient import CodeGradient, generator_of
from gradcheck.checks.points.point import Point
from gradcheck.language.problem import Problem
from gradcheck.oracles.numeric.finite_differences import Slope

#: How many points beside a kink are looked at, and how near by, relative to the largest number.
_POINTS, _NEAR = 12, 2.0**-14


def with_sides_nearby(claim: CodeGradient, direction: np.ndarray, kink: Slope) -> Slope:
    """Return the kink with sides that include the derivatives beside it."""
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
