"""The power of one case: its mutants, how many of them its checks catch, and how small an error they see."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.arrays import largest_finite, wide
from gradcheck.autograd.modes import quiet, using_default_dtype
from gradcheck.checks.closeness.tolerance import Tolerance, between_engines
from gradcheck.checks.mutation.core_mutations import CoverageCore
from gradcheck.checks.mutation.mutants import PointSet, core_mutants, formula_mutants
from gradcheck.checks.options import Engines, Options
from gradcheck.checks.points import Point
from gradcheck.checks.power import Power
from gradcheck.checks.result import CaseResult, ClaimKind
from gradcheck.language.case import Case, StatedTolerance


def with_power(result: CaseResult, case: Case, options: Options, engines: Engines) -> CaseResult:
    """The result of a case that passed, with its power; of any other, as it is."""
    return replace(result, power=measure(case, options, engines)) if result.status == "passed" else result


def measure(case: Case, options: Options, engines: Engines) -> Power | None:
    """The power of a case that passes; None for one that leaves no gradients, such as one that is about an error.

    Raises InvalidCase where the case's own numbers cannot be drawn.
    """
    with using_default_dtype(dtypes.real_of(dtypes.BY_NAME[options.apply(case).dtype])), quiet():
        points = PointSet(case, options, engines)
        right = CoverageCore()
        arrived = (g is not None for state in points.own.want.states for g in state.gradients.values())
        if not points.own.evaluation(right).states or not any(arrived):
            return None
        tried = [*core_mutants(points, right), *formula_mutants(points)]
        smallest = smallest_errors(points.own, options.tolerance)
    mutants = tuple(mutant for mutant in tried if mutant is not None)
    return Power(mutants, len(tried) - len(mutants), smallest)


def smallest_errors(point: Point, run: StatedTolerance | None) -> dict[str, float]:
    """By tensor, over all steps; a gradient of nothing but zeros, where any error is seen, has 0."""
    found: dict[str, float] = {}
    case = point.problem.case
    for step, state in enumerate(point.want.states):
        for name, gradient in state.gradients.items():
            if gradient is None or not gradient.size:
                continue
            tolerance = between_engines(gradient.dtype, case.engine_tolerance, run)
            slack = point.conditioning.slack(ClaimKind.GRADIENT, step, name)
            smallest = _smallest(gradient, tolerance, slack)
            if smallest is not None:
                found[name] = min(smallest, found.get(name, smallest))
    return found


def _smallest(gradient: np.ndarray, tolerance: Tolerance, slack: np.ndarray | None) -> float | None:
    """None where no element is finite."""
    magnitude = np.abs(wide(gradient))
    finite = np.isfinite(magnitude)
    if not finite.any():
        return None
    scale = largest_finite(magnitude)
    if scale == 0:
        return 0.0
    seen = finite & (magnitude > 0)
    fitting = slack if slack is not None and slack.shape == magnitude.shape else None
    allowed = tolerance.allowed(magnitude, scale, fitting)
    return float(np.min(allowed[seen] / magnitude[seen]))
