"""Counterexamples that can be checked by hand: the smallest sizes, small integers, one element.

What is true comes from the forward alone, by the numeric oracle; on small integers it is seldom anything but a small
number itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradcheck.autograd.modes import using_default_dtype
from gradcheck.errors import GradcheckError, InvalidCase
from gradcheck.language.case import Case, Claim
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.problem import Problem
from gradcheck.language.random import stream
from gradcheck.language.trials import symbolic_sizes
from gradcheck.oracles.numeric.gradient import numeric_gradient
from gradcheck.oracles.numeric.small_integers import smallest_sizes, with_small_integers
from gradcheck.oracles.numeric.work import Budget

#: The integers that are tried: positive ones, then both signs, then such that saturate no function.
_CHOICES = ((1, 2, 3), (-3, -2, -1, 1, 2, 3), (-1, 1), (-2, -1, 0, 1, 2))
#: What differs by less may be rounding.
_TOLERANCE = 1e-7
#: So often the numbers are drawn anew: at a tie or another kink nothing can be told.
_DRAWINGS = 3
#: The work that is spent on one formula, and that of drawing its inputs once.
WORK, _DRAWING = 200_000_000, 1_000_000


@dataclass(frozen=True, slots=True)
class Counterexample:
    """At these sizes and inputs a formula is not its tensor's gradient: it claims `claimed` where `true` is so.

    Where it has another shape, `index` is None, and both are shapes.
    """

    sizes: Mapping[str, int]
    inputs: Mapping[str, np.ndarray]
    constants: Mapping[str, np.ndarray]
    seeds: Mapping[str, np.ndarray]  # the incoming gradients that are not 1
    index: tuple[int, ...] | None
    claimed: Any
    true: Any


def counterexample(case: Case, name: str, claim: Claim, budget: Budget | None = None) -> Counterexample | None:
    """The first that is found, from the smallest sizes upwards; None if none is before the budget is spent.

    Of complex numbers there are none.
    """
    if case.dtype.startswith("complex"):
        return None
    budget = budget or Budget(WORK)
    for sizes, integers, generator in _tries(case):
        if budget.is_spent:
            return None
        budget.spend(_DRAWING)
        try:
            found = _compared(with_small_integers(case, sizes, generator, integers), name, claim, budget)
        except GradcheckError:  # sizes that do not go together, or numbers outside of a function's domain
            continue
        if found is not None:
            return found
    return None


def _tries(case: Case) -> Iterator[tuple[dict[str, int] | None, tuple[int, ...], np.random.Generator]]:
    """Sizes, integers and a way to draw them, from the smallest sizes upwards, and then all once more."""
    for drawing in range(_DRAWINGS):
        for sizes in smallest_sizes(case):
            for choice, integers in enumerate(_CHOICES):
                yield sizes, integers, stream(drawing, "small integers", choice)


def _compared(problem: Problem, name: str, claim: Claim, budget: Budget) -> Counterexample | None:
    """Where the claim differs from the truth, or None."""
    with using_default_dtype(np.dtype(np.float64)), np.errstate(all="ignore"):
        gradients = _Gradients(problem, budget)
        claimed = _claimed(problem, claim, gradients)
        true, error = gradients[name], gradients.errors[name]
    if claimed.shape != true.shape:
        return _example(problem, None, claimed.shape, true.shape)
    gap = np.abs(claimed - true)
    scale = _TOLERANCE * np.maximum(np.abs(true), 1)
    wrong = np.isfinite(gap) & np.isfinite(error) & (gap > 4 * error + scale)
    if not np.any(wrong):
        return None
    place = np.unravel_index(int(np.argmax(np.where(wrong, gap, -1))), true.shape)
    index = tuple(int(i) for i in place)
    return _example(problem, index, _whole(float(claimed[index]), 0.0), float(true[index]))


def _claimed(problem: Problem, claim: Claim, gradients: _Gradients) -> np.ndarray:
    scope = problem.environment()
    for tensor, entry in problem.case.graph.items():
        scope[tensor] = evaluate(entry.expr, scope)
    for step in problem.case.steps_of(claim.expr):
        scope[step] = evaluate(problem.case.let[step].expr, scope, gradients=gradients)
    return np.asarray(evaluate(claim.expr, scope, gradients=gradients))


class _Gradients(dict[str, np.ndarray]):
    """`grad(p)` by the numeric oracle, when it is asked for, and its errors. Raises InvalidCase at kinks."""

    def __init__(self, problem: Problem, budget: Budget) -> None:
        super().__init__()
        self.problem, self.budget = problem, budget
        self.errors: dict[str, np.ndarray] = {}

    def __contains__(self, name: object) -> bool:
        return True

    def __missing__(self, name: str) -> np.ndarray:
        gradient = numeric_gradient(self.problem, name, len(self.problem.case.steps) - 1)
        size = int(np.prod(gradient.shape))
        found = gradient.partials(range(size), self.budget)
        if len(found.value) < size or np.any(found.kinked):
            raise InvalidCase(f"the gradient of {name} is not known")
        values = [_whole(v, e) for v, e in zip(found.value, found.error, strict=True)]
        self[name] = np.array(values, dtype=np.float64).reshape(gradient.shape)
        self.errors[name] = found.error.reshape(gradient.shape)
        return self[name]


def _whole(value: float, error: float) -> float:
    """The integer that it is up to rounding, or else the value."""
    nearest = float(np.rint(value)) + 0.0
    return nearest if abs(value - nearest) <= max(4 * error, 1e-12 * abs(value)) < 1e-3 else float(value)


def _example(problem: Problem, index: tuple[int, ...] | None, claimed: Any, true: Any) -> Counterexample:
    words = set(symbolic_sizes(problem.case))
    return Counterexample(
        sizes={name: size for name, size in problem.sizes.items() if name in words},
        inputs=problem.inputs,
        constants=problem.constants,
        seeds={root: seed for seeds in problem.seeds for root, seed in seeds.items() if seed is not None},
        index=index,
        claimed=claimed,
        true=true,
    )
