"""Which drawn points are usable, and which have nonzero gradients.

Code may have a narrower domain than its entry: an assertion about numbers, a size that is a multiple of a block, an
array of its own, against which an argument of size 1 is broadcast.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gradcheck.autograd.dtypes import wide
from gradcheck.checks.points.point import Point
from gradcheck.engines.base import Engine, Evaluation
from gradcheck.facts import Fact, fact
from gradcheck.language.problem import Problem


def rejection_reason(point: Point) -> Fact | None:
    """Return why a point is not usable: undefined, or an unexpected error."""
    if not point.want.states:
        return fact("said", text=str(point.want.error))
    for step, state in zip(point.problem.case.steps, point.want.states, strict=False):
        kind = state.error.kind if state.error else None
        if kind != step.raises:
            return fact("said", text=str(state.error)) if state.error else fact("not_raised_here", error=step.raises)
    return None


def is_informative(point: Point) -> bool:
    """Return whether each formula's gradient has a finite, nonzero element."""
    if not point.is_complete:
        return False
    gradients = point.scope(point.last_step).gradients
    arrays = [wide(gradients[name]) for name in point.problem.case.formulas if name in gradients]
    return all(bool(np.any(np.isfinite(array) & (array != 0))) for array in arrays)


@dataclass(frozen=True, slots=True)
class Refusal:
    """The error of code at a drawn point, or an input whose size it keeps."""

    text: str
    sizes: Mapping[str, int]
    kept: str = ""


def refusal_at(point: Point, engine: Engine, given: Problem) -> Refusal | None:
    """Return why a drawn point is outside the code's domain, if it is."""
    found = point.evaluation(engine)
    error = found.error or next((state.error for state in found.states if state.error), None)
    if error is not None:
        return Refusal(error.message, point.problem.sizes) if error.kind == "code_raised" else None
    kept = _input_with_kept_size(found, point.problem, given)
    return Refusal("", point.problem.sizes, kept) if kept else None


def _input_with_kept_size(found: Evaluation, drawn: Problem, given: Problem) -> str:
    """Return an input of size 1 whose gradient has the size that was given."""
    for name, gradient in (pair for state in found.states for pair in state.gradients.items()):
        if gradient is not None and name in drawn.inputs and name in given.inputs:
            now, before = drawn.inputs[name].shape, given.inputs[name].shape
            is_broadcast = len(now) == gradient.ndim == len(before) and all(
                size == one or (one == 1 and size == own)
                for size, one, own in zip(gradient.shape, now, before, strict=True)
            )
            if gradient.shape != now and is_broadcast:
                return name
    return ""


def narrower_domain(engine: Engine, refusals: Sequence[Refusal]) -> Fact:
    """Return the fact that the code is not checked at these points."""
    first = next((one for one in refusals if one.text), refusals[0])
    sizes = tuple(f"{word} = {size}" for word, size in first.sizes.items())
    return fact(
        "narrower_domain", engine=engine.name, count=len(refusals), text=first.text, kept=first.kept, sizes=sizes
    )
