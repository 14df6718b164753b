"""The same problem at other numbers, so that an explanation that fits by accident is found out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from gradcheck.engines.base import Application, Engine, Evaluation
from gradcheck.engines.core import applications_of
from gradcheck.language.problem import Problem

#: By how much numbers are multiplied: little enough to stay in most domains, enough to tell explanations apart.
LOW, HIGH = 0.75, 1.25


def elsewhere(problem: Problem, number: int) -> Problem:
    """The problem with every number of its inputs and incoming gradients moved; zeros stay zeros.

    `number` counts the points; the same gives the same.
    """
    generator = np.random.default_rng([abs(problem.seed), number, 0x706F696E])

    def moved(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {name: nudged(array, generator) for name, array in arrays.items()}

    return replace(
        problem,
        inputs=moved(problem.inputs),
        seeds=tuple(
            {name: None if seed is None else nudged(seed, generator) for name, seed in seeds.items()}
            for seeds in problem.seeds
        ),
        forwards=tuple(moved(arrays) for arrays in problem.forwards),
    )


def nudged(array: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """The array with every element multiplied by a number of its own; integers and booleans as they are."""
    if array.dtype.kind not in "fcV":
        return array
    factors = generator.uniform(LOW, HIGH, array.shape)
    wide = array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)
    return np.asarray(wide * factors).astype(array.dtype)


class Elsewhere:
    """The other points of one problem, and what is computed there; each when first asked for."""

    def __init__(self, problem: Problem, known: Mapping[str, Evaluation]) -> None:
        """`known` are the evaluations of the problem itself, by engine."""
        self._problems = {0: problem}
        self._applications: dict[int, list[Application]] = {}
        self._evaluations = {(name, 0): evaluation for name, evaluation in known.items()}

    def problem(self, number: int) -> Problem:
        """The problem itself for 0, others from 1 on."""
        if number not in self._problems:
            self._problems[number] = elsewhere(self._problems[0], number)
        return self._problems[number]

    def applications(self, number: int) -> list[Application]:
        """The ops that the graph applies there."""
        if number not in self._applications:
            self._applications[number] = applications_of(self.problem(number))
        return self._applications[number]

    def evaluation(self, engine: Engine, number: int) -> Evaluation:
        """What an engine makes of it, when asked first."""
        key = (engine.name, number)
        if key not in self._evaluations:
            self._evaluations[key] = engine.evaluate(self.problem(number))
        return self._evaluations[key]
