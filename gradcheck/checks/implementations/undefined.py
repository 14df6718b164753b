"""Code that is undefined where its entry has no derivative: a norm at zero is no place to fail."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import islice

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.dtypes import wide
from gradcheck.autograd.modes import using_default_dtype
from gradcheck.checks.claim_kind import ClaimKind
from gradcheck.checks.context import Context
from gradcheck.checks.result import Comparison
from gradcheck.engines.define_by_run import DefineByRun
from gradcheck.engines.raised import raise_precision, raised
from gradcheck.facts import fact
from gradcheck.language.problem import Problem

#: So many elements are looked at, moved by so much; slopes that differ by this part are two.
_ELEMENTS, _STEP, _APART = 6, 2.0**-20, 1e-2


def excuse_undefined(context: Context) -> None:
    """At drawn points, gradients that are no numbers just where the entry has a kink say nothing."""
    for place, c in enumerate(context.found):
        is_gradient = c.status == "failed" and c.what is ClaimKind.GRADIENT and c.trial is not None
        if is_gradient and is_undefined(c) and _is_at_kink(context, c):
            told = fact("undefined_at_kink", engine=c.engine)
            context.found[place] = replace(c, status="not_differentiable", verdict=told)


def is_undefined(c: Comparison) -> bool:
    """Whether all that is wrong is no number, where there should be one."""
    if c.got_array is None or c.want_array is None or c.mask is None or c.got_array.shape != c.want_array.shape:
        return False
    return not np.isfinite(wide(c.got_array)[c.mask]).any() and bool(np.isfinite(wide(c.want_array)[c.mask]).all())


def _is_at_kink(context: Context, c: Comparison) -> bool:
    """Whether what the entry comes to has another slope on the left than on the right, along one of these elements: a
    row of zeros has no direction, whichever of them is moved."""
    assert c.mask is not None
    problem = context.points.at(c.trial).problem
    if c.tensor not in problem.inputs:
        return False
    kinks = kinks_along(context, problem, c.tensor, [int(i) for i in np.flatnonzero(c.mask)])
    return any(kinks)


def kinks_along(context: Context, problem: Problem, name: str, indices: Iterable[int]) -> list[bool]:
    """Of some elements of an input, the first few: whether what the entry comes to has two slopes there."""
    precise, reference = raise_precision(problem), context.engines.reference
    if not isinstance(reference, DefineByRun) or len(precise.seeds) != 1:
        return []
    engine = raised(reference)
    with using_default_dtype(dtypes.real_of(precise.dtype)), np.errstate(all="ignore"):
        return [
            _has_two_slopes([_total(engine, precise, name, i, t) for t in (-_STEP, 0, _STEP, _STEP / 16)])
            for i in islice(indices, _ELEMENTS)
        ]


def _has_two_slopes(totals: list[float]) -> bool:
    left, right, near = totals[1] - totals[0], totals[2] - totals[1], totals[3] - totals[1]
    if abs(near) > abs(right) / 2 > 0:  # a jump, which an epsilon makes steep
        return True
    return bool(abs(left - right) > _APART * max(abs(left), abs(right)) > 0)


def _total(engine: DefineByRun, problem: Problem, name: str, index: int, t: float) -> float:
    """The results added up with weights, whatever comes in, where one element is moved."""
    moved = problem.inputs[name].copy()
    moved.flat[index] += t
    states = engine.evaluate(replace(problem, inputs={**problem.inputs, name: moved})).states
    if not states:
        return float("nan")
    results = [states[0].values[root] for root in problem.seeds[0]]
    return float(sum(np.sum(one * (1 + np.arange(one.size) % 7).reshape(one.shape)).real for one in results))
