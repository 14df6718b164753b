"""Every gradient of an engine against the numeric oracle, which knows nothing of any rule; where a run asks for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.modes import using_default_dtype
from gradcheck.checks.claims.engines import place_of
from gradcheck.checks.closeness.compare import wide
from gradcheck.checks.closeness.conditioning import Noise, raise_precision
from gradcheck.checks.closeness.tolerance import limits
from gradcheck.checks.result import Comparison
from gradcheck.engines.base import Evaluation
from gradcheck.errors import GradcheckError
from gradcheck.language.case import Tolerance
from gradcheck.language.problem import Problem
from gradcheck.oracles.numeric.audit import Audit, audit
from gradcheck.oracles.numeric.gradient import NumericGradient, numeric_gradient


def check_with_oracle(
    problem: Problem, evaluations: Mapping[str, Evaluation], override: Tolerance | None, noise: Noise
) -> list[Comparison]:
    """A comparison for each gradient that each engine holds after the last step."""
    raised = raise_precision(problem)
    found: list[Comparison] = []
    with using_default_dtype(dtypes.real_of(raised.dtype)), np.errstate(all="ignore"):
        oracles: dict[tuple[str, int], NumericGradient | GradcheckError] = {}
        for evaluation in evaluations.values():
            found += _audited(problem, raised, evaluation, override, noise, oracles)
    return found


def _audited(
    problem: Problem,
    raised: Problem,
    evaluation: Evaluation,
    override: Tolerance | None,
    noise: Noise,
    oracles: dict[tuple[str, int], NumericGradient | GradcheckError],
) -> Iterator[Comparison]:
    step = len(evaluation.states) - 1
    for name, gradient in evaluation.states[step].gradients.items():
        if gradient is None:
            continue  # compared with the reference's already; where nothing flows there is nothing to differentiate
        key = (name, step)
        if key not in oracles:
            oracles[key] = _oracle(raised, *key)
        oracle = oracles[key]
        about = {"what": "gradient", "tensor": name, "step": step, "engine": evaluation.engine,
                 "place": place_of(problem.case, name), "shape": gradient.shape, "dtype": gradient.dtype.name,
                 "elements": gradient.size}  # fmt: skip
        if isinstance(oracle, GradcheckError):
            yield Comparison(status="unsupported", reference="numeric", message=str(oracle), **about)  # type: ignore[arg-type]
            continue
        allowed = limits(gradient.dtype, problem.case.engine_tolerance, override)
        magnitude = np.abs(wide(gradient))
        scale = float(np.max(magnitude, where=np.isfinite(magnitude), initial=0.0))
        room = np.asarray(allowed.rtol * magnitude + allowed.atol * scale)
        try:
            result = audit(oracle, wide(gradient), room)
            slack = noise.slack("gradient", step, name) if result.status in ("failed", "undecided") else None
            if slack is not None and slack.shape == room.shape:
                result = audit(oracle, wide(gradient), room + slack)
        except GradcheckError as error:
            yield Comparison(status="unsupported", reference="numeric", message=str(error), **about)  # type: ignore[arg-type]
            continue
        yield _told(result, about, gradient.shape, allowed.rtol, allowed.atol * scale)


def _oracle(problem: Problem, tensor: str, step: int) -> NumericGradient | GradcheckError:
    try:
        return numeric_gradient(problem, tensor, step)
    except GradcheckError as error:
        return error


def _told(result: Audit, about: dict[str, object], shape: tuple[int, ...], rtol: float, atol: float) -> Comparison:
    where = None if result.worst is None else tuple(int(i) for i in np.unravel_index(result.worst, shape))
    error = None if result.claimed is None or result.value is None else abs(result.claimed - result.value)
    certificate = {
        "method": result.method,
        "directions" if result.sampled else "elements": result.examined,
        "error": result.error,
    }
    message = ""
    if result.status == "undecided":
        message = f"{result.method} cannot tell: the error bar is {result.error:.1g}"
    elif result.status == "not_differentiable" and result.interval is not None:
        low, high = result.interval
        message = f"no derivative there; any of [{low:.6g}, {high:.6g}] is a subgradient"
        if np.isinf(high):
            message = "no derivative there: the function jumps"
    elif result.status == "failed" and result.sampled:
        message = "differs along random directions"
    return Comparison(
        status=result.status, reference=result.method, max_abs=error, worst_index=where, got=result.claimed,
        want=result.value, rtol=rtol, atol=atol, mismatched=int(result.status == "failed"), message=message,
        certificate=certificate, **about,  # type: ignore[arg-type]
    )  # fmt: skip
