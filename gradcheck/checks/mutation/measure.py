"""The power of one case: its mutants, how many of them its checks catch, and how small an error they see."""

from __future__ import annotations

from dataclasses import replace

from gradcheck.autograd import dtypes
from gradcheck.autograd.modes import quiet, using_default_dtype
from gradcheck.checks.mutation.core_mutants import core_mutants
from gradcheck.checks.mutation.formula_mutants import formula_mutants
from gradcheck.checks.mutation.mutant_core import CoverageCore
from gradcheck.checks.mutation.point_set import PointSet
from gradcheck.checks.mutation.smallest_errors import smallest_errors
from gradcheck.checks.options import Engines, Options
from gradcheck.checks.power import Power
from gradcheck.checks.result import CaseResult
from gradcheck.engines.base import Evaluation
from gradcheck.language.case import Case


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
        if not (points.own.evaluation(right).states and _has_gradients(points.own.want)):
            return None
        tried = [*core_mutants(points, right), *formula_mutants(points)]
        smallest = smallest_errors(points.own, options.tolerance)
    mutants = tuple(mutant for mutant in tried if mutant is not None)
    return Power(mutants, len(tried) - len(mutants), smallest)


def _has_gradients(evaluation: Evaluation) -> bool:
    """Whether any gradient has arrived anywhere."""
    return any(gradient is not None for state in evaluation.states for gradient in state.gradients.values())
