"""Drawn points where the graph is undefined or decided by rounding.

They are checked only after a difference at a drawn point. The case's own numbers are not checked for degeneracy.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TypeGuard

import numpy as np

from gradcheck.autograd.dtypes import wide
from gradcheck.checks.closeness.tolerance import epsilon
from gradcheck.checks.points.drawing import Points
from gradcheck.checks.points.point import Point, rejection_reason
from gradcheck.checks.result import Comparison
from gradcheck.engines.base import Engine, Evaluation
from gradcheck.engines.define_by_run import DefineByRun
from gradcheck.engines.double_precision import double_precision_backend, double_precision_problem
from gradcheck.facts import Fact, fact
from gradcheck.language.array_structures import DOMAIN_STRUCTURES
from gradcheck.language.problem import Problem
from gradcheck.language.random_streams import stream

Values = Mapping[str, np.ndarray]
#: The move of inputs in units in the last place, its repetitions, and the relative change that is noise.
_UNITS, _TIMES, _NOISE = 16.0, 2, 1e-3


def degeneracy(point: Point, found: Iterable[Comparison]) -> Fact | None:
    """Return why a difference at a drawn point does not count, or None."""
    differing = [c for c in found if c.is_failing]
    if not differing:
        return None
    if not is_finite(point):
        return fact("not_finite_here")
    has_bounded_rule = any(one.op.bounded and one.op.bounded(*one.args) for one in point.applications)
    if has_bounded_rule or any(c.status == "undecided" for c in differing) or _is_rounding_noise(point):
        return fact("ill_conditioned_here")
    return None


def are_sizes_informative(points: Points, sizes: Mapping[str, int]) -> bool | None:
    """Return whether a point of these sizes is usable; None if unknown."""
    point = points.point_of_sizes(sizes, number=1, attempt=0)
    if point is None:
        return None
    if rejection_reason(point):
        return False if point.want.error is not None and point.want.error.kind == "domain_error" else None
    return is_finite(point) and not _is_rounding_noise(point)


def is_finite(point: Point) -> bool:
    """Return whether gradients and roots are finite, and no value is NaN."""
    roots = {root for step in point.problem.case.steps for root in step.roots}

    def is_number(name: str, array: np.ndarray | None, is_value: bool) -> bool:
        if array is None or array.dtype.kind not in "fcV":
            return True
        found = wide(array)
        return not np.any(np.isnan(found) if is_value and name not in roots else ~np.isfinite(found))

    states = point.want.states
    values = all(is_number(name, array, True) for state in states for name, array in state.values.items())
    return values and all(is_number(name, array, False) for state in states for name, array in state.gradients.items())


def is_usable(point: Point | None) -> TypeGuard[Point]:
    """Return whether a drawn point exists, is defined and finite."""
    return point is not None and not rejection_reason(point) and is_finite(point)


def is_nowhere_defined(point: Point, step: int) -> bool:
    """Return whether all roots are NaN, as `logdet` of a negative one is."""
    states, steps = point.want.states, point.problem.case.steps
    roots = [states[i].values.get(root) for i in range(min(step + 1, len(states))) for root in steps[i].roots]
    return bool(roots) and all(is_all_nan(root) for root in roots)


def point_in_domain(points: Points, sizes: Mapping[str, int], number: int) -> Point | None:
    """Return a point of these sizes in the graph's domain, or None."""
    made = (points.point_of_sizes(sizes, number, 1, structure) for structure in DOMAIN_STRUCTURES)
    return next(filter(is_usable, made), None)


def pass_as_undefined(c: Comparison) -> Comparison:
    """Return a difference in the gradient of NaN as passed."""
    return c.subject.passed(shape=c.shape, dtype=c.dtype, elements=c.elements).with_notes(fact("graph_is_nan"))


def pass_as_out_of_range(c: Comparison, *who: str) -> Comparison:
    """Return a difference in an overflowed value's gradient as passed."""
    return c.subject.passed(shape=c.shape, dtype=c.dtype, elements=c.elements).with_notes(fact("leaves_range", who=who))


def is_all_nan(array: np.ndarray | None) -> bool:
    """Return whether there are elements, all NaN."""
    return array is not None and array.dtype.kind in "fcV" and array.size > 0 and bool(np.isnan(wide(array)).all())


def _is_rounding_noise(point: Point) -> bool:
    """Return whether the last digits of the inputs decide a value.

    In double precision; rounding in less is measured. Values are continuous where gradients have kinks."""
    problem, reference, want = double_precision_problem(point.problem), point.engines.reference, point.want
    if problem is not point.problem and isinstance(reference, DefineByRun):
        reference = double_precision_backend(reference)
        want = reference.evaluate(problem)
    generator = stream(problem.seed, "last places")
    for _ in range(_TIMES):
        moved = tuple(_perturbed(arrays, generator) for arrays in (problem.inputs, *problem.forwards))
        before, after = _values(reference, replace(problem, inputs=moved[0], forwards=moved[1:]), want)
        if len(after) != len(before):
            return True
        for values, others in zip(before, after, strict=True):
            if any(_changes_much(array, others.get(name)) for name, array in values.items()):
                return True
    return False


def _values(reference: Engine, problem: Problem, want: Evaluation) -> tuple[list[Values], list[Values]]:
    """Return known values and those of this problem, without backward passes."""
    listed = [state.values for state in want.states]
    if isinstance(reference, DefineByRun) and all(step.action != "forward" for step in problem.case.steps):
        return listed[:1], reference.forward_values(problem)
    return listed, [state.values for state in reference.evaluate(problem).states]


def _perturbed(arrays: Mapping[str, np.ndarray], generator: np.random.Generator) -> dict[str, np.ndarray]:
    def perturbed(array: np.ndarray) -> np.ndarray:
        factors = 1 + _UNITS * epsilon(array.dtype) * generator.uniform(-1, 1, array.shape)
        return np.asarray(wide(array) * factors).astype(array.dtype)

    return {name: perturbed(array) if array.dtype.kind in "fcV" else array for name, array in arrays.items()}


def _changes_much(before: np.ndarray, after: np.ndarray | None) -> bool:
    if after is None or before.dtype.kind not in "fcV" or before.shape != after.shape or not before.size:
        return False
    old, new = wide(before), wide(after)
    with np.errstate(invalid="ignore"):
        far = np.max(np.where(old == new, 0, np.abs(new - old)))
    return bool(not far <= _NOISE * np.max(np.abs(old), where=np.isfinite(old), initial=0.0))
