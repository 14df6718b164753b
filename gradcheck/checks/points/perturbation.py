"""Change the numbers of a problem: near its own, or for its literals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.dtypes import wide
from gradcheck.language.case import Step, Value
from gradcheck.language.problem import Problem
from gradcheck.language.random_streams import stream
from gradcheck.language.trial_draws import move_numbers, redraw_literal

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
