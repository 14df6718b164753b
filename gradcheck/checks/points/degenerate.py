"""Drawn points that say nothing: where the graph is undefined, or where rounding decides what it comes to.

Asked only where something differs at a point that nobody chose. What a case's own numbers are like is its own affair.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from gradcheck.autograd.dtypes import wide
from gradcheck.checks.closeness.tolerance import epsilon
from gradcheck.checks.points.admissible import rejection_reason
from gradcheck.checks.points.drawing import Points
from gradcheck.checks.points.point import Point
from gradcheck.checks.result import FAILING_STATUSES, Comparison
from gradcheck.engines.base import Engine, Evaluation
from gradcheck.engines.define_by_run import DefineByRun
from gradcheck.engines.double_precision import double_precision_backend, double_precision_problem
from gradcheck.facts import Fact, fact
from gradcheck.language.array_structures import DOMAIN_STRUCTURES
from gradcheck.language.problem import Problem
from gradcheck.language.random_streams import stream

Values = Mapping[str, np.ndarray]
#: Inputs are moved by so many units in the last place, so often; values that move by more than this part are noise.
_UNITS, _TIMES, _NOISE = 16.0, 2, 1e-3


def degeneracy(point: Point, found: Iterable[Comparison]) -> Fact | None:
    """Why what differs at a drawn point says nothing; None where it does, or nothing differs."""
    differing = [c for c in found if c.status in FAILING_STATUSES]
    if not differing:
        return None
    if not is_finite(point):
        return fact("not_finite_here")
    if any(c.status == "undecided" for c in differing) or _is_rounding_noise(point) or _is_bounded(point):
        return fact("ill_conditioned_here")
    return None


def _is_bounded(point: Point) -> bool:
    """Whether some op's rule is bounded there, and no derivative."""
    return any(one.op.bounded is not None and one.op.bounded(*one.args) for one in point.applications)


def are_sizes_informative(points: Points, sizes: Mapping[str, int]) -> bool | None:
    """Whether a point of these sizes would; None where none can be drawn."""
    point = points.point_of_sizes(sizes, number=1, attempt=0)
    if point is None:
        return None
    if rejection_reason(point):
        return False if point.want.error is not None and point.want.error.kind == "domain_error" else None
    return is_finite(point) and not _is_rounding_noise(point)


def is_finite(point: Point) -> bool:
    """Whether all gradients, and all values that gradients start from, are finite numbers, and no value is NaN: one on
    the way may be infinite, as what a mask leaves out is."""
    roots = {root for step in point.problem.case.steps for root in step.roots}

    def is_number(name: str, array: np.ndarray | None, is_value: bool) -> bool:
        if array is None or array.dtype.kind not in "fcV":
            return True
        found = wide(array)
        return not np.any(np.isnan(found) if is_value and name not in roots else ~np.isfinite(found))

    states = point.want.states
    values = all(is_number(name, array, True) for state in states for name, array in state.values.items())
    return values and all(is_number(name, array, False) for state in states for name, array in state.gradients.items())


def is_nowhere_defined(point: Point, step: int) -> bool:
    """Whether all that gradients start from is NaN, as `logdet` is at a negative determinant: then what libraries make
    of its gradient says nothing."""
    states, steps = point.want.states, point.problem.case.steps
    roots = [states[i].values.get(root) for i in range(min(step + 1, len(states))) for root in steps[i].roots]
    return bool(roots) and all(is_all_nan(root) for root in roots)


def point_in_domain(points: Points, sizes: Mapping[str, int], number: int) -> Point | None:
    """A point of these sizes, as trial `number` (from 1), at which the graph is defined everywhere: of positive
    numbers, of numbers between -1 and 1, and so on; None where none of these is one."""
    made = (points.point_of_sizes(sizes, number, 1, structure) for structure in DOMAIN_STRUCTURES)
    return next(
        (point for point in made if point is not None and not rejection_reason(point) and is_finite(point)), None
    )


def pass_as_undefined(c: Comparison) -> Comparison:
    """What differs in a gradient of what is NaN differs in nothing."""
    return c.subject.passed(shape=c.shape, dtype=c.dtype, elements=c.elements).with_notes(fact("graph_is_nan"))


def pass_as_out_of_range(c: Comparison, *who: str) -> Comparison:
    """What differs in the gradient of what has left the range of its dtype differs in nothing."""
    return c.subject.passed(shape=c.shape, dtype=c.dtype, elements=c.elements).with_notes(fact("leaves_range", who=who))


def is_all_nan(array: np.ndarray | None) -> bool:
    """Whether there are numbers, and none of them is one."""
    return array is not None and array.dtype.kind in "fcV" and array.size > 0 and bool(np.isnan(wide(array)).all())


def _is_rounding_noise(point: Point) -> bool:
    """Whether the last places of the inputs decide a value, in double precision: what less of it does is measured.
    Values are continuous where gradients have kinks."""
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
    """Those that are wanted, and those of this problem, once where no step changes them: then no backward pass is."""
    listed = [state.values for state in want.states]
    if isinstance(reference, DefineByRun) and all(step.action != "forward" for step in problem.case.steps):
        return listed[:1], reference.forward_values(problem)
    return listed, [state.values for state in reference.evaluate(problem).states]


def _perturbed(arrays: Mapping[str, np.ndarray], generator: np.random.Generator) -> dict[str, np.ndarray]:
    def shaken(array: np.ndarray) -> np.ndarray:
        factors = 1 + _UNITS * epsilon(array.dtype) * generator.uniform(-1, 1, array.shape)
        return np.asarray(wide(array) * factors).astype(array.dtype)

    return {name: shaken(array) if array.dtype.kind in "fcV" else array for name, array in arrays.items()}


def _changes_much(before: np.ndarray, after: np.ndarray | None) -> bool:
    if after is None or before.dtype.kind not in "fcV" or before.shape != after.shape or not before.size:
        return False
    old, new = wide(before), wide(after)
    with np.errstate(invalid="ignore"):
        far = np.max(np.where(old == new, 0, np.abs(new - old)))
    return bool(not far <= _NOISE * np.max(np.abs(old), where=np.isfinite(old), initial=0.0))
