"""What a trial draws: other sizes and other numbers, at which a case's claims are verified again.

A trial draws afresh what the case says symbolically, and keeps the rest:

- a creator, as in `x: randn(n, 3)`, gives other numbers, from the stream of its name, the trial and the attempt;
- a size that values or `shapes` are written with gives another: distinct primes first, since a formula that mixes
  dimensions up cannot survive them; in the third trial a 1 among them, since broadcasting hides there; then anything;
- a literal that has a shape in `shapes` gives other numbers in the new size, and with it a literal incoming gradient;
- any other literal keeps its numbers.

Where the sizes that were drawn do not fit the graph, `sampling.draw` is asked for another attempt, which draws others;
from `FIRST_OWN` on half of them, and at `LAST_ATTEMPT` all of them, are the case's own. A case of literals alone has
no trials; its inputs can be `nudged` instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from gradcheck.autograd.dtypes import largest_finite
from gradcheck.language.case import Case
from gradcheck.language.expr.nodes import Expr
from gradcheck.language.expr.traverse import free_names, ops_in
from gradcheck.language.random import RANDOM, stream

BOUNDS = (1, 7)
_PRIMES = (2, 3, 5, 7)
_OTHERS = (4, 6)
FIRST_OWN, LAST_ATTEMPT = 4, 8


def trials(case: Case, count: int | None = None) -> range:
    """The trials to verify the case with, `count` instead of its own number: none unless `generalize` applies and
    something changes."""
    if case.generalize is None or not is_general(case):
        return range(0)
    return range(case.generalize.trials if count is None else count)


def is_general(case: Case) -> bool:
    """Whether a trial differs from the case itself in anything."""
    if case.shapes or symbolic_sizes(case):
        return True
    steps = [value for step in case.steps for value in (*step.roots.values(), *step.inputs.values())]
    values = (*case.inputs.values(), *case.constants.values(), *steps)
    return any(v is not None and v.expr is not None and not RANDOM.isdisjoint(ops_in(v.expr)) for v in values)


# Sizes ------------------------------------------------------------------------------------------


def symbolic_sizes(case: Case) -> list[str]:
    """The sizes that a trial draws: the words of `shapes`, and the `dims` that values or shapes are written with."""
    used: set[str] = set()
    for expr in _written(case):
        used.update(free_names(expr))
    for shape in case.shapes.values():
        if isinstance(shape, tuple):
            used.update(size for size in shape if isinstance(size, str))
    return [*(word for word in case.dims if word in used), *(word for word in case.words if word not in case.dims)]


def _written(case: Case) -> Iterator[Expr]:
    for value in (*case.inputs.values(), *case.constants.values()):
        if value.expr is not None:
            yield value.expr
    yield from (shape for shape in case.shapes.values() if not isinstance(shape, tuple))


def trial_sizes(case: Case, seed: int, trial: int, attempt: int = 0) -> dict[str, int]:
    """Every size in trial `trial`; the symbolic ones are drawn, for another `attempt` others."""
    sizes = {**case.words, **case.dims}
    words = symbolic_sizes(case)
    if not words or attempt >= LAST_ATTEMPT:
        return sizes
    bounds = dict.fromkeys(words, BOUNDS)
    if case.generalize is not None:
        bounds.update((word, limits) for word, limits in case.generalize.dims.items() if word in bounds)
    generator = stream(seed, "sizes", trial, attempt)
    if attempt >= FIRST_OWN:
        bounds = {word: limits for word, limits in bounds.items() if generator.random() < 0.5}
    if trial > 2:
        drawn = {word: _mixed(generator, *limits) for word, limits in bounds.items()}
    else:
        drawn = _distinct(generator, bounds, _shuffled(generator) if attempt else _order(seed, trial))
    if trial == 2:
        able = [word for word, (low, high) in bounds.items() if low <= 1 <= high]
        if able:
            drawn[able[int(generator.integers(len(able)))]] = 1
    return {**sizes, **drawn}


def _order(seed: int, trial: int) -> list[int]:
    """Which sizes come first: the primes in an order of their own in each trial, so that no word keeps its size."""
    order = _shuffled(stream(seed, "sizes"))
    primes = order[: len(_PRIMES)]
    return primes[trial:] + primes[:trial] + order[len(_PRIMES) :]


def _shuffled(generator: np.random.Generator) -> list[int]:
    return [int(size) for size in (*generator.permutation(_PRIMES), *generator.permutation(_OTHERS))]


def _distinct(
    generator: np.random.Generator, bounds: Mapping[str, tuple[int, int]], order: list[int]
) -> dict[str, int]:
    """A size for each word: the first in `order` that is free and within its bounds, or else any that is free."""
    drawn: dict[str, int] = {}
    taken: set[int] = set()
    for word, (low, high) in bounds.items():
        size = next((size for size in order if low <= size <= high and size not in taken), None)
        for _ in range(20):
            if size is not None and size not in taken:
                break
            size = int(generator.integers(low, high, endpoint=True))
        assert size is not None
        drawn[word] = size
        taken.add(size)
    return drawn


def _mixed(generator: np.random.Generator, low: int, high: int) -> int:
    if low <= 1 <= high and generator.random() < 0.25:
        return 1
    return int(generator.integers(low, high, endpoint=True))


# Numbers ----------------------------------------------------------------------------------------


def other_numbers(array: np.ndarray, shape: tuple[int, ...], generator: np.random.Generator) -> np.ndarray:
    """Other numbers in place of those of a literal: standard normal ones, complex with variance 1; integers and
    booleans from their own range."""
    if array.dtype.kind in "biu":
        if not array.size:
            return np.zeros(shape, array.dtype)
        return generator.integers(int(array.min()), int(array.max()), shape, endpoint=True).astype(array.dtype)
    numbers: Any = generator.standard_normal(shape)
    if array.dtype.kind == "c":
        numbers = (numbers + 1j * generator.standard_normal(shape)) * np.sqrt(0.5)
    return np.asarray(numbers).astype(array.dtype)


def nudged(array: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Numbers near those of a literal, of the same signs, so that they stay where the graph is defined; for a zero, one
    that is small beside the others. What is symmetric stays so: formulas for covariances hold for no other matrix."""
    if array.dtype.kind in "biu" or not array.size:
        return array
    factors = generator.uniform(0.5, 1.5, array.shape)
    largest = largest_finite(array) or 1.0
    small = generator.uniform(-0.5, 0.5, array.shape) * largest
    if array.ndim > 1 and array.shape[-1] == array.shape[-2] and np.array_equal(array, array.mT.conj(), equal_nan=True):
        factors, small = np.tril(factors) + np.tril(factors, -1).mT, np.tril(small) + np.tril(small, -1).mT
    return np.where(array == 0, small, array * factors).astype(array.dtype)
