"""Check gradients of gradients for code that torch differentiates."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gradcheck.autograd.dtypes import wide
from gradcheck.checks.claims import second_order
from gradcheck.checks.closeness.tolerance import epsilon
from gradcheck.checks.context import Context
from gradcheck.checks.implementations.implementation_case import second_order_case
from gradcheck.checks.implementations.undefined_derivatives import is_undefined, kinks_along
from gradcheck.checks.points.drawing import Points
from gradcheck.checks.result import Comparison, Diagnosis
from gradcheck.engines.define_by_run import DefineByRun, last_backward_step
from gradcheck.facts import fact
from gradcheck.language.random_streams import random_directions, stream

#: Rounding of second order: a part of the largest element, or so many roots of the unit.
_PART, _ROOTS = 1e-7, 4.0

if TYPE_CHECKING:
    from gradcheck.engines.implementation.code_engine import CodeEngine


def check_second_order(context: Context, engine: CodeEngine) -> list[Comparison]:
    """Check second order, unless at a kink or with rounding code."""
    own = [c for c in context.found if c.trial is None]
    is_clear = not any(c.status == "not_differentiable" or c.has_note("own_rounding") for c in own)
    if not engine.code.is_torch or not is_clear:
        return []
    problem = context.points.own.problem
    case = second_order_case(context.case, problem)
    incoming = {name: value.array for name, value in case.inputs.items() if name not in problem.inputs}
    if incoming:
        seeds = ({"total_": None},)
        problem = replace(problem, case=case, inputs={**problem.inputs, **incoming}, seeds=seeds)
    second = Context(case, context.options, context.engines, Points(problem, context.engines))
    if not second_order.applies(second):
        return []
    alone = context.engines.reference is engine
    found = [c for c in second_order.check(second, confirmed=alone) if c.tensor in case.inputs]
    found = [c for c in found if alone or c.mismatch is None or c.mismatch.kind != "differences_disagree"]
    found = [c for c in found if c.status != "undecided" and (c.status != "failed" or _is_real_error(c))]
    if any(c.status == "failed" and is_undefined(c) for c in found) and _is_at_kink(context):
        found = [c for c in found if c.status != "failed" or not is_undefined(c)]
    return [_explained(second, c) if c.status == "failed" else c for c in found]


def _is_at_kink(context: Context) -> bool:
    """Return whether the entry has two slopes at some input."""
    problem = context.points.own.problem
    inputs = {name: array for name, array in problem.inputs.items() if array.dtype.kind == "f"}
    return any(any(kinks_along(context, problem, name, range(array.size))) for name, array in inputs.items())


def _explained(second: Context, c: Comparison) -> Comparison:
    """Add a diagnosis if a first gradient's part of the result is missing."""
    problem, reference = second.points.own.problem, second.engines.reference
    step = last_backward_step(problem)
    if c.want_array is None or step is None or not isinstance(reference, DefineByRun) or not second.options.explained:
        return c
    missing = wide(c.want_array) - (0 if c.got_array is None else wide(c.got_array))
    probes = random_directions(problem.inputs, stream(problem.seed, "probes"))
    for name in probes:  # second order is linear in its probes
        alone = {one: probe if one == name else np.zeros_like(probe) for one, probe in probes.items()}
        part = reference.second_order(problem, step, alone).second.get(c.tensor)
        if part is not None and np.allclose(wide(part), missing, rtol=_PART, atol=_PART * np.max(np.abs(missing))):
            found = Diagnosis("detached", fact("second_detached", gradient=name, tensor=c.tensor), "possible")
            return replace(c, diagnoses=(found,))
    return c


def _is_real_error(c: Comparison) -> bool:
    """Return whether the error exceeds two roundings in user code."""
    got, want = c.got_array, c.want_array
    if got is None or want is None or got.shape != want.shape:
        return True
    with np.errstate(all="ignore"):
        off, size = np.max(np.abs(wide(got) - wide(want))), np.max(np.abs(wide(want)), initial=0.0)
    return exceeds_rounding(float(off), float(size), want.dtype)


def exceeds_rounding(off: float, size: float, dtype: np.dtype) -> bool:
    """Return whether an error, beside its total, exceeds two roundings."""
    return not off <= max(_PART, _ROOTS * float(np.sqrt(epsilon(dtype)))) * size
