"""Complex rules of JAX or HIPS autograd that follow torch's convention.

For `f(z)` these libraries pull `g` back to `g * f'(z)`, and torch to `g * conj(f'(z))`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gradcheck.checks.implementations.code_gradient import CodeGradient
from gradcheck.checks.implementations.code_noise import CodeNoise
from gradcheck.checks.implementations.finite_difference_check import compare_with_differences
from gradcheck.checks.points.point import Point
from gradcheck.checks.result import Comparison, Diagnosis
from gradcheck.facts import fact
from gradcheck.language.claim_kind import ClaimKind

if TYPE_CHECKING:
    from gradcheck.engines.implementation.code_engine import CodeEngine

#: The libraries of this convention, by the kind of code.
_LIBRARIES = {"jax": "JAX", "hips": "autograd"}


def conjugated_rule(engine: CodeEngine, point: Point, c: Comparison) -> Iterator[Diagnosis]:
    """Yield the diagnosis that a rule conjugates the derivative.

    Its results are those that torch would expect, which finite differences confirm."""
    library = _LIBRARIES.get(engine.code.kind, "")
    problem = point.problem
    states = point.evaluation(engine).states
    got = states[c.step].gradients.get(c.tensor) if len(states) > c.step else None
    if not library or c.what is not ClaimKind.GRADIENT or got is None or len(problem.seeds) > 1:
        return
    arrays = (got, *(seed for seed in problem.seeds[0].values() if seed is not None))
    if all(array.dtype.kind != "c" for array in arrays) or c.tensor not in problem.inputs:
        return
    seeds = {name: None if seed is None else np.asarray(np.conj(seed)) for name, seed in problem.seeds[0].items()}
    conjugated = Point(replace(problem, seeds=(seeds,)), point.engines, point.trial)
    claim = CodeGradient(conjugated, engine, c.tensor, np.asarray(np.conj(got)), CodeNoise(engine))
    if all(one.status == "passed" for one in compare_with_differences([(claim, None)])):
        yield Diagnosis("conjugate", fact("conjugated_for_torch", library=library), "confirmed")
