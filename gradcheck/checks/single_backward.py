"""One backward pass of a case alone, at its own numbers and at others.

Formulas are derived and compared with the core's gradients at these points.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.checks.options import Engines
from gradcheck.checks.points.drawing import draw_until
from gradcheck.checks.points.point import Point
from gradcheck.errors import GradcheckError
from gradcheck.facts import Fact, fact
from gradcheck.language.case import Step, Value
from gradcheck.language.expr.nodes import Call
from gradcheck.language.problem import Problem
from gradcheck.language.random_streams import stream
from gradcheck.language.sampling import draw
from gradcheck.language.symbolic.simplify.part_properties import Sample
from gradcheck.language.trial_draws import LiteralChange, Variation, can_vary_in_trials, moves_literals

#: How many other points formulas are derived and verified at.
TRIALS = 3
#: Larger cases are simplified and proved at the sizes of trials, if these can vary.
LARGE = 100_000


def pass_alone(problem: Problem, step: int) -> Problem:
    """Return the graph with one backward pass only, at that step's inputs."""
    inputs = dict(problem.inputs)
    constants = dict(problem.constants)
    for changed in problem.forwards[:step]:
        inputs |= {name: array for name, array in changed.items() if name in inputs}
        constants |= {name: array for name, array in changed.items() if name in constants}
    only = Step("backward", roots=problem.case.steps[step].roots)
    case = replace(problem.case.without_claims(), steps=(only,))
    return replace(problem, case=case, inputs=inputs, constants=constants, seeds=(problem.seeds[step],), forwards=({},))


@dataclass(frozen=True, slots=True, eq=False)
class SingleBackward:
    """The whole case at a point, and its one backward pass alone."""

    whole: Point
    alone: Point

    @classmethod
    def of(cls, whole: Point, step: int) -> SingleBackward | Fact:
        """Return both, or why the pass cannot run."""
        if len(whole.want.states) > step:
            alone = Point(pass_alone(whole.problem, step), whole.engines)
            if not alone.want.error and alone.want.states and not alone.want.states[-1].error:
                return cls(whole, alone)
        return fact("pass_not_run")

    @property
    def size(self) -> int:
        """The number of elements of all values of the graph."""
        return sum(array.size for array in self.alone.want.states[-1].values.values())

    @property
    def gradients(self) -> Mapping[str, np.ndarray | None]:
        """The gradients after the pass alone."""
        return self.alone.want.states[-1].gradients


@dataclass(frozen=True, slots=True, eq=False)
class BackwardPoints:
    """One pass at the case's own numbers, at other points, and at corners."""

    own: SingleBackward
    other_points: tuple[SingleBackward, ...]
    corners: tuple[SingleBackward, ...]

    @classmethod
    def of(cls, whole: Point, step: int) -> BackwardPoints | Fact:
        """Return all points, or why the pass cannot run."""
        own = SingleBackward.of(whole, step)
        return own if isinstance(own, Fact) else cls(own, tuple(other_passes(own, step)), tuple(corners(own, step)))

    @property
    def all(self) -> list[SingleBackward]:
        """The points at which formulas are derived, the case's own first."""
        return [self.own, *self.other_points]

    @property
    def small(self) -> list[SingleBackward]:
        """The points small enough to simplify and prove formulas there."""
        return [one for one in self.all if one.size <= LARGE]

    @property
    def proof_problem(self) -> Problem:
        """The problem that proofs are about."""
        small = self.small
        return (self.own if self.own in small or not small else max(small, key=lambda n: n.size)).alone.problem

    @property
    def proved_at(self) -> Mapping[str, int]:
        """The sizes of the proofs, if they are not the case's own."""
        return {} if self.proof_problem is self.own.alone.problem else self.proof_problem.sizes


def sample_at(point: Point) -> Sample:
    """Return names and gradients after the last step of a point."""
    scope = point.scope(point.last_step)
    return Sample(scope, scope.gradients, point.problem.dtype)


def other_passes(own: SingleBackward, step: int) -> Iterator[SingleBackward]:
    """Yield the pass at trials, or with literals moved if nothing varies."""
    problem, engines = own.whole.problem, own.whole.engines
    if can_vary_in_trials(problem.case):
        for trial in range(TRIALS):
            found = draw_until(
                problem.case, problem.seed, trial, lambda drawn: SingleBackward.of(Point(drawn, engines), step)
            )
            if not isinstance(found, Fact):
                yield found
    elif moves_literals(problem.case):
        for reach in ("anywhere", "near"):
            moved = _with_moved_literals(problem, engines, step, reach)
            if moved is not None and _is_finite(moved, own):
                yield moved


def _with_moved_literals(problem: Problem, engines: Engines, step: int, reach: LiteralChange) -> SingleBackward | None:
    try:
        drawn = draw(problem.case, problem.seed, variation=Variation(literals=reach))
    except GradcheckError:
        return None
    found = SingleBackward.of(Point(drawn, engines), step)
    return None if isinstance(found, Fact) else found


def _is_finite(found: SingleBackward, own: SingleBackward) -> bool:
    """Return whether gradients finite at the own numbers are finite here."""

    def finite(array: np.ndarray | None) -> bool:
        return array is None or bool(np.isfinite(dtypes.wide(array)).all())

    return all(finite(found.gradients.get(name)) for name, array in own.gradients.items() if finite(array))


def corners(own: SingleBackward, step: int) -> Iterator[SingleBackward]:
    """Yield the pass at zeros, then at -1, 0, 1, where norms may vanish."""
    problem = own.whole.problem
    for number in (0, 1):
        generator = stream(problem.seed, "corner", number)
        changed = replace(
            problem,
            inputs=_with_corner_values(problem.inputs, problem.case.inputs, generator, number),
            constants=_with_corner_values(problem.constants, problem.case.constants, generator, number),
        )
        found = SingleBackward.of(Point(changed, own.whole.engines), step)
        if not isinstance(found, Fact):
            yield found


def _with_corner_values(
    arrays: Mapping[str, np.ndarray], values: Mapping[str, Value], generator: np.random.Generator, number: int
) -> dict[str, np.ndarray]:
    """Return arrays with normal numbers replaced by small integers."""
    exprs = {name: value.expr for name, value in values.items()}
    normal = [name for name, expr in exprs.items() if isinstance(expr, Call) and expr.op == "randn"]
    changed = {n: a for n, a in arrays.items() if n in normal and dtypes.is_differentiable(a.dtype)}
    small = {n: (generator.integers(-1, 2, a.shape) * number).astype(a.dtype) for n, a in changed.items()}
    return {**arrays, **small}


def differs_from_gradient(claimed: np.ndarray, gradient: np.ndarray, *, may_be_undefined: bool) -> bool:
    """Return whether a value, except an allowed NaN, differs from it."""
    got, want = dtypes.wide(claimed), dtypes.wide(gradient)
    if got.shape != want.shape:
        return True
    wrong = np.isfinite(want) & ~np.isclose(got, want, rtol=1e-4, atol=1e-6)
    return bool((wrong & ~np.isnan(got)).any() if may_be_undefined else wrong.any())
