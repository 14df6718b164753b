"""Compare every gradient with the numeric oracle, if the run asks for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.dtypes import wide
from gradcheck.autograd.modes import using_default_dtype
from gradcheck.checks.claims.evaluations import place_of
from gradcheck.checks.closeness.overflow import leaves_range
from gradcheck.checks.closeness.tolerance import Tolerance, engine_tolerance, modulus
from gradcheck.checks.context import Context
from gradcheck.checks.points.degenerate import is_nowhere_defined, pass_as_out_of_range
from gradcheck.checks.points.point import Point
from gradcheck.checks.result import Comparison, Subject
from gradcheck.engines.double_precision import double_precision_problem
from gradcheck.errors import GradcheckError
from gradcheck.facts import Fact, fact
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.oracles.numeric.numeric_gradient import Audit, NumericGradient, audit, numeric_gradient


def applies(context: Context) -> bool:
    """Return whether the run asks for it and gradients are defined."""
    is_asked = context.options.oracle == "numeric" and context.can_be_checked
    return is_asked and not is_nowhere_defined(context.points.own, context.points.own.last_step)


def check(context: Context) -> Iterator[Comparison]:
    """Yield a comparison for each gradient of each engine after the last step."""
    point = context.points.own
    raised = double_precision_problem(point.problem)
    oracles: dict[tuple[str, int], NumericGradient | GradcheckError] = {}

    def oracle(tensor: str, step: int) -> NumericGradient | GradcheckError:
        key = (tensor, step)
        if key not in oracles:
            try:
                oracles[key] = numeric_gradient(raised, *key)
            except GradcheckError as error:
                oracles[key] = error
        return oracles[key]

    with using_default_dtype(dtypes.real_of(raised.dtype)), np.errstate(all="ignore"):
        for evaluation in map(point.evaluation, context.engines.tested):
            step = len(evaluation.states) - 1
            for name, gradient in evaluation.states[step].gradients.items() if evaluation.states else ():
                if gradient is not None:  # None was compared already: nothing flows, nothing is to be differentiated
                    place = place_of(context.case, name)
                    subject = Subject(ClaimKind.GRADIENT, name, step, evaluation.engine, "numeric", place)
                    yield _audit_gradient(context, point, subject, gradient, oracle(name, step))


def _audit_gradient(
    context: Context, point: Point, subject: Subject, gradient: np.ndarray, oracle: NumericGradient | GradcheckError
) -> Comparison:
    known = (gradient.shape, gradient.dtype.name, gradient.size)
    if isinstance(oracle, GradcheckError):
        return Comparison(subject, "unsupported", *known, mismatch=fact("said", text=str(oracle)))
    tolerance = engine_tolerance(gradient.dtype, context.case.engine_tolerance, context.options.tolerance)
    room = tolerance.allowed(np.abs(wide(gradient)))
    try:
        result = audit(oracle, wide(gradient), room)
        if result.status in ("failed", "undecided"):
            slack = point.conditioning.allowance(ClaimKind.GRADIENT, subject.step, subject.tensor)
            if slack is not None and slack.shape == room.shape:
                result = audit(oracle, wide(gradient), room + slack)
    except GradcheckError as error:
        return Comparison(subject, "unsupported", *known, mismatch=fact("said", text=str(error)))
    if result.status in ("failed", "undecided") and leaves_range(point.problem):
        return pass_as_out_of_range(Comparison(subject, "failed", *known), "differences")
    return replace(_comparison(result, subject, gradient, tolerance), atol=tolerance.atol)


def _comparison(result: Audit, subject: Subject, gradient: np.ndarray, tolerance: Tolerance) -> Comparison:
    where = None if result.worst is None else tuple(int(i) for i in np.unravel_index(result.worst, gradient.shape))
    error = None if result.claimed is None or result.value is None else modulus(result.claimed - result.value)
    return Comparison(
        replace(subject, reference=result.method),
        result.status,
        gradient.shape,
        gradient.dtype.name,
        gradient.size,
        max_abs=error,
        worst_index=where,
        got=result.claimed,
        want=result.value,
        rtol=tolerance.rtol,
        mismatched=int(result.status == "failed"),
        mismatch=_mismatch(result),
        certificate={
            "method": result.method,
            "directions" if result.sampled else "elements": result.examined,
            "error": result.error,
        },
    )


def _mismatch(result: Audit) -> Fact | None:
    if result.status == "undecided":
        return fact("method_cannot_tell", method=result.method, error=result.error)
    if result.status == "not_differentiable" and result.interval is not None:
        low, high = result.interval
        return fact("jumps") if np.isinf(high) else fact("any_subgradient", low=low, high=high)
    return fact("differs_along_directions") if result.status == "failed" and result.sampled else None
