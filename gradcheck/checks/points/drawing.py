"""Create all points of a case: own numbers, trials, variants, neighbours.

One loop draws a trial again until its sizes match and its values are usable. A point is then kept, so that a failure
is explained at the very point where it was found.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import TypeVar

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.dtypes import wide
from gradcheck.checks.options import Engines
from gradcheck.checks.points.point import CasePoint, Point, Refusal, refusal_at
from gradcheck.checks.result import Trial, TrialKind
from gradcheck.errors import GradcheckError, TooLarge
from gradcheck.facts import Fact, fact
from gradcheck.language.array_structures import Structure
from gradcheck.language.case import Case, Step, Value
from gradcheck.language.problem import Problem
from gradcheck.language.random_streams import stream
from gradcheck.language.sampling import MOST_IN_TRIALS, draw, graph_values, inputs_without_draws
from gradcheck.language.trial_draws import (
    Variation,
    graph_sizes,
    listed_sizes,
    move_numbers,
    moves_literals,
    redraw_literal,
    size_bounds,
    symbolic_sizes,
    trial_sizes,
)


def stuck_sizes(problem: Problem) -> frozenset[str]:
    """Return sizes that cannot change alone: the graph fails at others."""
    return frozenset(
        word for word in symbolic_sizes(problem.case) if not any(map(_evaluates, _resized_problems(problem, word)))
    )


def pinned_sizes(problem: Problem) -> frozenset[str]:
    """Return stuck sizes of literals, which broadcasting hides at 1."""
    case, sizes = problem.case, problem.sizes
    written = [word for word in symbolic_sizes(case) if literal_of_size(case, sizes[word])]
    return stuck_sizes(problem).intersection(written) if written else frozenset()


def structural_sizes(problem: Problem, fits: Callable[[Problem], bool]) -> frozenset[str]:
    """Return sizes in the graph only that a claim takes from a literal.

    If such a size changes, the claim's shape is wrong. `fits` checks the shapes of all claims."""
    return frozenset(
        word
        for word in graph_sizes(problem.case)
        if not all(fits(changed) for changed in _resized_problems(problem, word) if _evaluates(changed))
    )


def literal_of_size(case: Case, size: int) -> str:
    """Return the first literal with this size; "" if there is none."""
    for name, value in (*case.inputs.items(), *case.constants.items()):
        if value.array is not None and name not in case.shapes and size in value.array.shape:
            return name
    return ""


def what_stays(own: Problem, drawn: Sequence[Problem]) -> list[Fact]:
    """Return a fact for each symbolic size and input that no trial changes."""
    if not drawn:
        return []
    case, sizes = own.case, own.sizes
    fixed = [word for word in symbolic_sizes(case) if all(one.sizes[word] == sizes[word] for one in drawn)]
    unvaried = [_unvaried(own, word, literal_of_size(case, sizes[word])) for word in fixed]
    return unvaried + [fact("input_stays", tensor=name, value=text) for name, text in inputs_without_draws(own).items()]


def _unvaried(own: Problem, word: str, tensor: str) -> Fact:
    """Return that a size stays: of a literal, or others are too large."""
    with suppress(GradcheckError):
        try:
            least = size_bounds(own.case).get(word, (1, 1))[0]
            draw(own.case, own.seed, 0, attempt=1, sizes={**own.sizes, word: least})
        except TooLarge:
            return fact("size_stays_small", size=word, value=own.sizes[word], most=MOST_IN_TRIALS)
    return fact("size_stays", size=word, value=own.sizes[word], tensor=tensor)


def _resized_problems(problem: Problem, word: str) -> Iterator[Problem]:
    """Yield the problem drawn with a few other sizes for this word."""
    case, own = problem.case, problem.sizes[word]
    low, high = size_bounds(case).get(word, (1, own + 2 + own))
    for size in dict.fromkeys((own + 1, 2 * own, own + 2)):
        if low <= size <= high:
            sizes: Mapping[str, int] = {**problem.sizes, word: size}
            try:
                yield draw(case, problem.seed, 0, attempt=1, sizes=sizes)
            except GradcheckError:
                continue


def _evaluates(problem: Problem) -> bool:
    try:
        graph_values(problem.case, problem.environment())
    except GradcheckError:
        return False
    return True


#: The range of factors: small enough for most domains, large enough to tell explanations apart.
LOW, HIGH = 0.75, 1.25


def scaled_problem(problem: Problem, number: int, low: float = LOW, high: float = HIGH) -> Problem:
    """Return the problem with random factors, seeded by `number`."""
    generator = stream(problem.seed, "nearby", number)

    def moved(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {name: scaled_array(array, generator, low, high) for name, array in arrays.items()}

    return replace(
        problem,
        inputs=moved(problem.inputs),
        seeds=tuple(
            {name: None if seed is None else scaled_array(seed, generator, low, high) for name, seed in seeds.items()}
            for seeds in problem.seeds
        ),
        forwards=tuple(moved(arrays) for arrays in problem.forwards),
    )


def scaled_array(array: np.ndarray, generator: np.random.Generator, low: float = LOW, high: float = HIGH) -> np.ndarray:
    """Return the array with each element scaled; integers unchanged."""
    if not dtypes.is_differentiable(array.dtype):
        return array
    return np.asarray(wide(array) * generator.uniform(low, high, array.shape)).astype(array.dtype)


def varied_problem(problem: Problem, generator: np.random.Generator) -> Problem:
    """Return the problem with other literals and literal cotangents."""

    def incoming(step: Step, seeds: Mapping[str, np.ndarray | None]) -> dict[str, np.ndarray | None]:
        found = dict(seeds)
        for name, seed in seeds.items():
            value = step.roots.get(name)
            if seed is not None and value is not None and value.expr is None:
                found[name] = redraw_literal(seed, seed.shape, generator)
        return found

    seeds = tuple(incoming(step, seeds) for step, seeds in zip(problem.case.steps, problem.seeds, strict=True))
    return replace(with_other_literals(problem, generator), seeds=seeds)


def with_other_literals(problem: Problem, generator: np.random.Generator) -> Problem:
    """Return the problem with other literals of the same signs.

    Drawn values may be symmetric or positive for a reason, and stay."""
    case = problem.case

    def near(arrays: Mapping[str, np.ndarray], values: Mapping[str, Value]) -> dict[str, np.ndarray]:
        return {
            name: move_numbers(array, generator, "near") if name in values and values[name].expr is None else array
            for name, array in arrays.items()
        }

    return replace(
        problem,
        inputs=near(problem.inputs, case.inputs),
        constants=near(problem.constants, case.constants),
        forwards=tuple(near(a, step.inputs) for a, step in zip(problem.forwards, case.steps, strict=True)),
    )


#: How often a trial is drawn until it is usable.
ATTEMPTS = 20
#: Trials from this number on are never a run's own.
_FIRST_UNSEEN = 1_000_000
#: The unseen point with distinct sizes, none of them 1; and the trial with equal sizes.
GENERIC, EQUAL = 1, 1

Vary = Callable[[Problem, np.random.Generator], Problem]
Made = TypeVar("Made")


class Points:
    """The points of one case."""

    def __init__(self, problem: Problem, engines: Engines) -> None:
        self.engines = engines
        self.own: Point = CasePoint(problem, engines)
        self.trials: list[Point] = []  # usable drawn points, in order
        self.variants: list[Point] = []  # points that differ from a trial or the own numbers in one thing
        self.kink_points: list[Point] = []  # points exactly at a threshold of the graph
        self.refusals: list[Refusal] = []  # drawn points at which code raises
        self._nearby: dict[tuple[int, int], Point] = {}

    def draw_trial(self, number: int, accept: Callable[[Point], Fact | None]) -> Point | Fact:
        """Draw trial `number` (from 0) until accepted, and keep it."""

        def point(problem: Problem) -> Point | Fact:
            made = self._make_point(problem, number + 1, "drawn")
            return accept(made) or made

        found = draw_until(self.own.problem.case, self.own.problem.seed, number, point, self._fixed_in_attempt)
        if isinstance(found, Point):
            self.trials.append(found)
        return found

    def redraw(self, point: Point, variation: Variation, number: int, attempt: int = 0) -> Point | None:
        """Return a point with a variation, as trial `number` (from 1), or None."""
        case, by = self.own.problem.case, point.problem.draw_settings
        attempt = by.attempt if by.trial is not None else attempt
        try:
            problem = draw(case, by.seed, by.trial, attempt=attempt, variation=variation, sizes=point.problem.sizes)
        except GradcheckError:
            return None
        return self._make_point(problem, number, "incoming" if variation.incoming else "moved")

    def point_of_sizes(
        self, sizes: Mapping[str, int], number: int, attempt: int, structure: Structure | None = None
    ) -> Point | None:
        """Return a point at these sizes, as trial `number` (from 1), or None."""
        case, seed = self.own.problem.case, self.own.problem.seed
        varied = Variation("anywhere" if structure and moves_literals(case) else None, structure=structure)
        try:
            drawn = draw(case, seed, number - 1, attempt=attempt, variation=varied, sizes=sizes)
        except GradcheckError:
            return None
        return self._make_point(drawn, number, "drawn")

    def branch_point(self, problem: Problem, number: int) -> Point:
        """Return the point of a problem that was searched for."""
        return self._make_point(problem, number, "branch")

    def _make_point(self, problem: Problem, number: int, kind: TrialKind) -> Point:
        attempt = problem.draw_settings.attempt
        sizes, resized = dict(problem.sizes), problem.sizes != self.own.problem.sizes
        return Point(problem, self.engines, Trial(number, problem.seed, sizes, attempt, kind, resized, problem))

    def is_refused(self, point: Point) -> bool:
        """Return whether a drawn point is outside the code's domain; keep why."""
        found = [refusal_at(point, one, self.own.problem) for one in self.engines.tested]
        self.refusals += filter(None, found)
        return any(found)

    @property
    def other_points(self) -> list[Point]:
        """All points but the case's own numbers."""
        return [*self.trials, *self.variants]

    def _fixed_in_attempt(self, attempt: int) -> frozenset[str]:
        return self.fixed_sizes | self._stuck_sizes if attempt > 1 else self.fixed_sizes

    @cached_property
    def fixed_sizes(self) -> frozenset[str]:
        """The sizes that keep to the case's, or to the list that it gives."""
        sizes = structural_sizes(self.own.problem, lambda problem: claims_fit(Point(problem, self.engines)))
        return sizes | pinned_sizes(self.own.problem) | listed_sizes(self.own.problem.case).keys()

    @cached_property
    def _stuck_sizes(self) -> frozenset[str]:
        return stuck_sizes(self.own.problem)

    def nearby_point(self, point: Point, number: int) -> Point:
        """Return the point for 0, else it with every number scaled."""
        if number == 0:
            return point
        if (key := (id(point), number)) not in self._nearby:
            self._nearby[key] = Point(scaled_problem(point.problem, number), self.engines, point.trial)
        return self._nearby[key]

    def unseen_point(self, number: int, seed: int | None = None, vary: Vary = varied_problem) -> Point | None:
        """Return a point that no run visits, with other literals, or None."""
        own = self.own.problem

        def point(problem: Problem) -> Point | Fact:
            generator = stream(problem.seed, "unseen", number, problem.draw_settings.attempt)
            made = Point(vary(problem, generator), self.engines)
            return made if len(made.want.states) == len(self.own.want.states) else fact("not_evaluated_here")

        found = draw_until(own.case, own.seed if seed is None else seed, _FIRST_UNSEEN + number, point)
        return found if isinstance(found, Point) else None

    def at(self, trial: Trial | None) -> Point:
        """Return the point of a trial. Raises LookupError if it was not kept."""
        if trial is None:
            return self.own
        for point in self.other_points:
            if point.trial == trial:
                return point
        raise LookupError(f"no point of trial {trial.number} was kept")


def draw_until(
    case: Case,
    seed: int | None,
    number: int,
    make: Callable[[Problem], Made | Fact],
    held: Callable[[int], Collection[str]] = lambda attempt: (),
) -> Made | Fact:
    """Draw trial `number` (from 0) until `make` returns no Fact.

    Returns the last Fact if it never does. Sizes that do not match are drawn again, except `held(attempt)`."""
    own = case.seed if seed is None else seed
    why: Fact | None = None
    for attempt in range(ATTEMPTS):
        try:
            problem = draw(
                case, seed, number, attempt=attempt, sizes=trial_sizes(case, own, number, attempt, held(attempt))
            )
        except GradcheckError as error:
            why = fact("cannot_be_drawn", error=str(error))
            continue
        made = make(problem)
        if not isinstance(made, Fact):
            return made
        why = made
    return fact("no_trial", trial=number + 1, attempts=ATTEMPTS, why=why)


def claims_fit(point: Point) -> bool:
    """Return whether all top-level claims have values of the right shape."""
    if not point.is_complete:
        return True
    case, scope = point.problem.case, point.scope(point.last_step)
    try:
        for name, listed in case.formulas.items():
            for claim in listed:
                if name in scope.gradients and scope.array_of(claim.expr).shape != scope.gradients[name].shape:
                    return False
        for claim in case.checks:
            scope.value_of(claim.expr)
    except (GradcheckError, ValueError):
        return False
    return True
