"""One backward pass of a case alone, at the case's own numbers and at others: where its formulas are looked for, and
where they are held to what the core computes."""

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
#: A case of more numbers is simplified and proved at the sizes of its trials, if they can vary.
LARGE = 100_000


def pass_alone(problem: Problem, step: int) -> Problem:
    """The same graph with one backward pass alone, at the inputs that it had then."""
    inputs = dict(problem.inputs)
    constants = dict(problem.constants)
    for changed in problem.forwards[:step]:
        inputs |= {name: array for name, array in changed.items() if name in inputs}
        constants |= {name: array for name, array in changed.items() if name in constants}
    only = Step("backward", roots=problem.case.steps[step].roots)
    case = replace(
        problem.case, steps=(only,), values={}, expected={}, formulas={}, wrong_formulas={}, let={}, checks=()
    )
    return replace(problem, case=case, inputs=inputs, constants=constants, seeds=(problem.seeds[step],), forwards=({},))


@dataclass(frozen=True, slots=True, eq=False)
class SingleBackward:
    """The whole case at one point, and the one pass alone, at the inputs that it had then."""

    whole: Point
    alone: Point

    @classmethod
    def of(cls, whole: Point, step: int) -> SingleBackward | Fact:
        """Both, or why the pass cannot be run."""
        if len(whole.want.states) > step:
            alone = Point(pass_alone(whole.problem, step), whole.engines)
            if not alone.want.error and alone.want.states and not alone.want.states[-1].error:
                return cls(whole, alone)
        return fact("pass_not_run")

    @property
    def size(self) -> int:
        """How many numbers the values of the graph are."""
        return sum(array.size for array in self.alone.want.states[-1].values.values())

    @property
    def gradients(self) -> Mapping[str, np.ndarray | None]:
        """Those that the pass alone leaves."""
        return self.alone.want.states[-1].gradients

    def sample(self) -> Sample:
        """Names and gradients, as a formula sees them."""
        return sample_at(self.alone)


@dataclass(frozen=True, slots=True, eq=False)
class BackwardPoints:
    """One pass at the case's own numbers, elsewhere, and at corners."""

    own: SingleBackward
    other_points: tuple[SingleBackward, ...]
    corners: tuple[SingleBackward, ...]

    @classmethod
    def of(cls, whole: Point, step: int) -> BackwardPoints | Fact:
        """All of them, or why the pass cannot be run."""
        own = SingleBackward.of(whole, step)
        return own if isinstance(own, Fact) else cls(own, tuple(other_passes(own, step)), tuple(corners(own, step)))

    @property
    def all(self) -> list[SingleBackward]:
        """Those at which formulas are looked for: the case's own numbers first."""
        return [self.own, *self.other_points]

    @property
    def small(self) -> list[SingleBackward]:
        """Those of few enough numbers to simplify and prove formulas there."""
        return [one for one in self.all if one.size <= LARGE]

    @property
    def proof_problem(self) -> Problem:
        """Where proofs are about."""
        small = self.small
        return (self.own if self.own in small or not small else max(small, key=lambda n: n.size)).alone.problem

    @property
    def proved_at(self) -> Mapping[str, int]:
        """The sizes that proofs are about, where they are not the case's own."""
        return {} if self.proof_problem is self.own.alone.problem else self.proof_problem.sizes


def sample_at(point: Point) -> Sample:
    """Names and gradients after the last step, as a formula sees them."""
    scope = point.scope(point.last_step)
    return Sample(scope, scope.gradients, point.problem.dtype)


def other_passes(own: SingleBackward, step: int) -> Iterator[SingleBackward]:
    """The pass at other numbers and sizes: at trials, or with literals moved where nothing else is open."""
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
    """Whether every gradient is that is so at the case's own numbers."""

    def finite(array: np.ndarray | None) -> bool:
        return array is None or bool(np.isfinite(dtypes.wide(array)).all())

    return all(finite(found.gradients.get(name)) for name, array in own.gradients.items() if finite(array))


# Corners ------------------------------------------------------------------------------------------


def corners(own: SingleBackward, step: int) -> Iterator[SingleBackward]:
    """The pass where norms vanish and numbers are equal: with zeros for all that is normal, and with -1, 0 and 1."""
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
    """Integers of up to `number` in place of normal numbers; all else stays."""
    return {
        name: _small_integers(array, generator, number) if name in values and _is_normal(values[name]) else array
        for name, array in arrays.items()
    }


def _is_normal(value: Value) -> bool:
    """Whether any real numbers may stand there: those of a normal creator."""
    return isinstance(value.expr, Call) and value.expr.op == "randn"


def _small_integers(array: np.ndarray, generator: np.random.Generator, number: int) -> np.ndarray:
    if not dtypes.is_differentiable(array.dtype):
        return array
    return (generator.integers(-1, 2, array.shape) * number).astype(array.dtype)


def differs_from_gradient(claimed: np.ndarray, gradient: np.ndarray, *, may_be_undefined: bool) -> bool:
    """Whether a formula's value differs from a gradient where that is a number; NaN passes if it `may_be_undefined`."""
    got, want = dtypes.wide(claimed), dtypes.wide(gradient)
    if got.shape != want.shape:
        return True
    wrong = np.isfinite(want) & ~np.isclose(got, want, rtol=1e-4, atol=1e-6)
    return bool((wrong & ~np.isnan(got)).any() if may_be_undefined else wrong.any())
