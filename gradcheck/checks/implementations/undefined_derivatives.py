"""Excuse code that is NaN where its entry has no derivative.

An example is a norm at zero.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import islice

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.dtypes import wide
from gradcheck.autograd.modes import using_default_dtype
from gradcheck.checks.context import Context
from gradcheck.checks.result import Comparison
from gradcheck.engines.define_by_run import DefineByRun
from gradcheck.engines.double_precision import double_precision_backend, double_precision_problem
from gradcheck.facts import fact
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.language.problem import Problem

#: How many elements move, and the relative difference of two slopes.
_ELEMENTS, _APART = 6, 1e-2
_STEPS = (-(2.0**-20), -(2.0**-24), 0.0, 2.0**-24, 2.0**-20)
#: A step 16 times smaller gives a difference 16 times smaller for a slope, but smaller than 1 / `_FALLS` for none.
_FALLS = 64


def excuse_undefined(context: Context) -> None:
    """Excuse NaN at drawn points where the entry has a kink, or 0 / 0."""
    failed = [(place, c) for place, c in enumerate(context.found) if c.status == "failed" and is_undefined(c)]
    drawn = [(place, c, c.trial.number) for place, c in failed if c.trial]
    tests = {ClaimKind.VALUE: _has_kinks_at_zeros}
    nowhere = {number for _, c, number in drawn if tests.get(c.what, _is_at_kink)(context, c)}
    for place, c, number in drawn:
        if c.what in (ClaimKind.GRADIENT, ClaimKind.VALUE) and number in nowhere:
            verdict = fact("undefined_at_kink", engine=c.engine)
            context.found[place] = replace(c, status="not_differentiable", verdict=verdict)


def is_undefined(c: Comparison) -> bool:
    """Return whether it differs only in elements that should be finite."""
    if c.got_array is None or c.want_array is None or c.mask is None or c.got_array.shape != c.want_array.shape:
        return False
    return not np.isfinite(wide(c.got_array)[c.mask]).any() and bool(np.isfinite(wide(c.want_array)[c.mask]).all())


def _is_at_kink(context: Context, c: Comparison) -> bool:
    assert c.mask is not None
    problem = context.points.at(c.trial).problem
    if c.tensor not in problem.inputs:
        return False
    kinks = kinks_along(context, problem, c.tensor, [int(i) for i in np.flatnonzero(c.mask)])
    return any(kinks)


def _has_kinks_at_zeros(context: Context, c: Comparison) -> bool:
    """Return whether the entry has a kink or jump at each row of zeros."""
    problem = context.points.at(c.trial).problem
    found = []
    for name, array in problem.inputs.items():
        rows = wide(array).reshape(-1, array.shape[-1]) if array.ndim and array.size else np.ones((1, 1))
        zero = np.repeat(~rows.any(axis=1), rows.shape[1])
        if zero.any():
            found += kinks_along(context, problem, name, [int(i) for i in np.flatnonzero(zero)])
    return bool(found) and all(found)


def kinks_along(context: Context, problem: Problem, name: str, indices: Iterable[int]) -> list[bool]:
    """Return, for some elements of an input, whether the entry has two slopes."""
    precise, reference = double_precision_problem(problem), context.engines.reference
    if not isinstance(reference, DefineByRun) or len(precise.seeds) != 1:
        return []
    engine = double_precision_backend(reference)
    with using_default_dtype(dtypes.real_of(precise.dtype)), np.errstate(all="ignore"):
        return [
            _has_two_slopes([_total(engine, precise, name, i, t) for t in _STEPS]) for i in islice(indices, _ELEMENTS)
        ]


def _has_two_slopes(totals: list[float]) -> bool:
    left, near_left, right, near_right = (total - totals[2] for total in (totals[0], totals[1], totals[4], totals[3]))
    if abs(near_right) > abs(right) / 2 > 0:  # a jump, made steep by an epsilon
        return True
    if max(abs(near_left), abs(near_right)) < max(abs(left), abs(right)) / _FALLS:  # a square, without a slope
        return False
    return bool(abs(left + right) > _APART * max(abs(left), abs(right)) > 0)


def _total(engine: DefineByRun, problem: Problem, name: str, index: int, t: float) -> float:
    moved = problem.inputs[name].copy()
    moved.flat[index] += t
    states = engine.evaluate(replace(problem, inputs={**problem.inputs, name: moved})).states
    if not states:
        return float("nan")
    results = [states[0].values[root] for root in problem.seeds[0]]
    return float(sum(np.sum(one * (1 + np.arange(one.size) % 7).reshape(one.shape)).real for one in results))
