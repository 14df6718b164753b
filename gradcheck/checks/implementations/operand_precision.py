"""Hold the gradient of each operand to its own dtype, where these differ.

torch differentiates the forward in the same dtypes: what that rounds, a backward may round, too. A forward that works
in the lower precision itself has no better gradients.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from gradcheck.autograd.dtypes import wide
from gradcheck.checks.closeness.tolerance import epsilon
from gradcheck.checks.context import Context
from gradcheck.checks.result import Comparison, Subject
from gradcheck.engines.double_precision import double_precision_backend, double_precision_problem
from gradcheck.errors import GradcheckError
from gradcheck.facts import fact
from gradcheck.language.problem import Problem

if TYPE_CHECKING:
    from gradcheck.engines.implementation.code_engine import CodeEngine

#: The allowance in units of the dtype, over the largest element, and in units of the measured rounding.
_UNITS, _MARGIN, _DRAWS = 256.0, 64.0, 3


def check(context: Context, engine: CodeEngine, subject: Subject) -> Iterator[Comparison]:
    """Yield a failure for each gradient that is less precise than its operand."""
    stated = context.options.tolerance or context.case.engine_tolerance
    if not engine.binding.operand_dtypes or engine.observations.autocast_dtype or stated is not None:
        return
    from gradcheck.engines.implementation.operand_gradients import forward_rounds, operand_gradients

    problem = context.points.own.problem
    if forward_rounds(engine, problem):
        return
    right = _right_gradients(context, engine, problem)
    for name, got in operand_gradients(engine, problem).items():
        want, noise = right.get(name, (None, 0.0))
        is_rounded = np.array_equal(wide(got.astype(problem.dtype)), wide(got))
        if want is None or want.shape != got.shape or not (noise or is_rounded):
            continue
        size, largest = (float(np.max(np.abs(one), initial=0.0)) for one in (wide(got) - want, want))
        if size > _UNITS * epsilon(got.dtype) * largest + _MARGIN * noise:
            own, dtype = got.dtype.name, problem.dtype.name
            yield subject.failed(fact("rounded_operand", name=name, size=size, largest=largest, own=own, dtype=dtype))


def _right_gradients(context: Context, engine: CodeEngine, problem: Problem) -> dict[str, tuple[np.ndarray, float]]:
    """Return torch's gradients of the forward, with noise, else the entry's."""
    from gradcheck.engines.torch import Torch

    found = _gradients_of_forward(engine, problem)
    backend = context.engines.reference
    if found or type(backend) is not Torch:
        return found
    states = double_precision_backend(backend).evaluate(double_precision_problem(problem)).states
    gradients = states[0].gradients if states else {}
    return {name: (wide(one), 0.0) for name, one in gradients.items() if one is not None}


def _gradients_of_forward(engine: CodeEngine, problem: Problem) -> dict[str, tuple[np.ndarray, float]]:
    """Return them with their noise; none if torch does not record the forward."""
    from gradcheck.engines.implementation.differentiable_forward import differentiable_forward
    from gradcheck.engines.implementation.operand_gradients import operand_gradients

    code = differentiable_forward(engine.code, of_kept=True)
    if code is None:
        return {}
    forward = type(engine)("its own forward", engine.entry, code, engine.binding, engine.device)
    try:
        at_rest = operand_gradients(forward, problem)
        moved = [operand_gradients(forward, problem, seed) for seed in range(_DRAWS if at_rest else 0)]
    except GradcheckError:
        return {}
    return {
        name: (wide(one), max(float(np.max(np.abs(wide(now[name]) - wide(one)), initial=0.0)) for now in moved))
        for name, one in at_rest.items()
    }
