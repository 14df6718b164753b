"""Points under larger and smaller cotangents.

A claim may compare gradients, which a search holds fixed; they grow with cotangents.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from gradcheck.checks.branches.search_variables import is_incoming_free
from gradcheck.language.case import Case, Value
from gradcheck.language.problem import Problem
from gradcheck.language.trial_draws import is_fixed_incoming

#: Factors of cotangents.
_FACTORS = (30.0, 1e3, 1e-3)


def scaled_incoming(problem: Problem, factors: Sequence[float] = _FACTORS) -> Iterator[Problem]:
    """Yield the problem with all drawn cotangents multiplied, if any."""
    case = problem.case
    drawn = {root for step in case.steps for root, value in step.roots.items() if _is_drawn(case, value)}
    for factor in factors if drawn else ():
        seeds = tuple({r: _times(factor, s) if r in drawn else s for r, s in each.items()} for each in problem.seeds)
        yield replace(problem, seeds=seeds)


def _is_drawn(case: Case, incoming: Value | None) -> bool:
    return is_incoming_free(case, incoming) and not is_fixed_incoming(case, incoming)


def _times(factor: float, array: np.ndarray | None) -> np.ndarray | None:
    return None if array is None else np.asarray(array * array.dtype.type(factor))
