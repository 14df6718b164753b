"""Other numbers for a problem: near its own, to tell explanations apart, or in place of what the file writes out."""

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

#: By how much numbers are multiplied nearby: little enough to stay in most domains, enough to tell explanations apart.
LOW, HIGH = 0.75, 1.25


def scaled_problem(problem: Problem, number: int) -> Problem:
    """The problem with every number of its inputs and incoming gradients multiplied by a number of its own between LOW
    and HIGH; zeros stay zeros. `number` counts such problems; the same gives the same."""
    generator = stream(problem.seed, "nearby", number)

    def moved(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {name: scaled_array(array, generator) for name, array in arrays.items()}

    return replace(
        problem,
        inputs=moved(problem.inputs),
        seeds=tuple(
            {name: None if seed is None else scaled_array(seed, generator) for name, seed in seeds.items()}
            for seeds in problem.seeds
        ),
        forwards=tuple(moved(arrays) for arrays in problem.forwards),
    )


def scaled_array(array: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """The array with every element multiplied by a number of its own; integers and booleans as they are."""
    if not dtypes.is_differentiable(array.dtype):
        return array
    return np.asarray(wide(array) * generator.uniform(LOW, HIGH, array.shape)).astype(array.dtype)


def varied_problem(problem: Problem, generator: np.random.Generator) -> Problem:
    """The problem with other literals, and other incoming gradients in place of those that the file writes out."""

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
    """The problem with other numbers of the same signs in place of those that the file writes out for tensors. What is
    drawn by an expression may be symmetric, or positive, for good reason, and stays."""
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
