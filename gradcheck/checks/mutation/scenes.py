"""Where planted faults are judged: the case at its own numbers, at its trials, and at random points beside these."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cached_property

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.op import Op
from gradcheck.checks.claims.engines import compare_evaluations
from gradcheck.checks.claims.operations import check_nodes
from gradcheck.checks.closeness.conditioning import Noise
from gradcheck.checks.closeness.rounding import widen
from gradcheck.checks.mutation.engine import Faulty
from gradcheck.checks.options import Settings
from gradcheck.engines.base import Application, Evaluation
from gradcheck.engines.core import Core, applications_of
from gradcheck.errors import TensorError
from gradcheck.language.case import Step, Value
from gradcheck.language.problem import Problem
from gradcheck.language.sampling import draw
from gradcheck.language.trials import is_general, trials

_ATTEMPTS = 12
#: How many points beside the case's own a fault must leave as they are to be none.
_RANDOM = 3
#: Trials from this one on are never a run's own.
_FIRST_UNUSED = 1_000_000
_BAD = ("failed", "undecided")
#: What NumPy raises when a fault has made shapes that do not go together: a crash, which a run reports as well.
CRASHES = (ValueError, TypeError, ArithmeticError, LookupError)


class Scene:
    """One problem, with the reference's answer and the core's."""

    def __init__(self, problem: Problem, settings: Settings) -> None:
        self.problem, self.settings = problem, settings
        self.want: Evaluation = settings.reference.evaluate(problem)
        self.noise = Noise(settings.reference, problem, self.want)

    @cached_property
    def right(self) -> Evaluation:
        """The core's own answer, without any fault."""
        return Core().evaluate(self.problem)

    @property
    def has_gradients(self) -> bool:
        """Whether any gradient has arrived anywhere."""
        return any(gradient is not None for state in self.want.states for gradient in state.gradients.values())

    def differs(self, engine: Faulty) -> bool:
        """Whether a run would say that this engine is wrong here."""
        try:
            got = engine.evaluate(self.problem)
        except CRASHES:
            return True
        found = compare_evaluations(self.problem, got, self.want, self.settings.tolerance)
        failed = [comparison for comparison in found if comparison.status in _BAD]
        return any(comparison.status in _BAD for comparison in widen(failed, self.noise))


class Stage:
    """All the scenes of one case."""

    def __init__(self, problem: Problem, settings: Settings) -> None:
        self.problem, self.settings = problem, settings
        self.own = Scene(problem, settings)

    @cached_property
    def trials(self) -> list[Scene]:
        """The trials of a run."""
        numbers = trials(self.problem.case, self.settings.trials)
        return [scene for number in numbers if (scene := self._trial(number)) is not None]

    def _trial(self, number: int) -> Scene | None:
        for attempt in range(_ATTEMPTS):
            try:
                problem = draw(self.problem.case, self.settings.seed, number, attempt=attempt)
            except TensorError:  # these sizes do not go together
                continue
            scene = Scene(problem, self.settings)
            if len(scene.want.states) == len(problem.case.steps):
                return scene
        return None

    def node_differs(self, engine: Faulty, op: Op) -> bool:
        """Whether the check of each op alone would say that this engine's rule is wrong."""
        applications = [a for a in self._applications if a.op is op or a.op.composite]
        reference, override = self.settings.reference, self.settings.tolerance
        try:
            found = check_nodes(self.problem, applications, [engine], reference, override)
        except CRASHES:
            return True
        return any(comparison.status in _BAD for comparison in found)

    @cached_property
    def _applications(self) -> list[Application]:
        return applications_of(self.problem)

    def random(self) -> list[Scene]:
        """The case's graph at points near its own, and elsewhere; drawn once."""
        return self._random

    @cached_property
    def _random(self) -> list[Scene]:
        generator = np.random.default_rng([abs(self.problem.seed), 0x706F776572])
        found = []
        for number in range(_RANDOM):
            scene = Scene(moved(self._elsewhere(number), generator), self.settings)
            if len(scene.want.states) == len(self.own.want.states):
                found.append(scene)
        return found

    def _elsewhere(self, number: int) -> Problem:
        """A trial that no run has; the case itself where there are none."""
        case = self.problem.case
        if is_general(case):
            for attempt in range(_ATTEMPTS):
                with suppress(TensorError):  # these sizes do not go together
                    return draw(case, self.settings.seed, _FIRST_UNUSED + number, attempt=attempt)
        return self.problem


def moved(problem: Problem, generator: np.random.Generator) -> Problem:
    """The same problem with other numbers, of the same signs, for those that the file writes out; incoming gradients
    too. What is drawn by an expression may be symmetric, or positive, for good reason."""
    case = problem.case

    def shifted(arrays: Mapping[str, np.ndarray], values: Mapping[str, Value]) -> dict[str, np.ndarray]:
        return {
            name: _shifted(array, generator) if name in values and values[name].expr is None else array
            for name, array in arrays.items()
        }

    def incoming(step: Step, seeds: Mapping[str, np.ndarray | None]) -> dict[str, np.ndarray | None]:
        found = dict(seeds)
        for name, seed in seeds.items():
            value = step.roots.get(name)
            if seed is not None and value is not None and value.expr is None:
                found[name] = generator.standard_normal(seed.shape).astype(seed.dtype)
        return found

    return replace(
        problem,
        inputs=shifted(problem.inputs, case.inputs),
        constants=shifted(problem.constants, case.constants),
        forwards=tuple(shifted(a, step.inputs) for a, step in zip(problem.forwards, case.steps, strict=True)),
        seeds=tuple(incoming(step, seeds) for step, seeds in zip(case.steps, problem.seeds, strict=True)),
    )


def _shifted(array: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    if not dtypes.is_differentiable(array.dtype):
        return array
    wide = array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)
    factor = 1 + 0.2 * generator.uniform(-1, 1, array.shape)
    away = np.where(wide == 0, 0.1 * generator.standard_normal(array.shape), 0.0)
    return np.asarray(wide * factor + away).astype(array.dtype)
