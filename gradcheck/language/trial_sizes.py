"""The sizes of a trial: distinct primes first, since a formula that mixes dimensions up cannot survive them; then a 1
among them, since broadcasting hides there; then anything."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from gradcheck.language.case import Case
from gradcheck.language.expr.mentions import free_names
from gradcheck.language.expr.nodes import Expr
from gradcheck.language.random import stream

BOUNDS = (1, 7)
_PRIMES = (2, 3, 5, 7)
_OTHERS = (4, 6)
#: Where drawn sizes do not fit the graph: from here on half of them, then all of them, are the case's own.
FIRST_OWN, LAST_ATTEMPT = 4, 8


def symbolic(case: Case) -> list[str]:
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
    words = symbolic(case)
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
        _put_a_one(generator, bounds, drawn)
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


def _put_a_one(generator: np.random.Generator, bounds: Mapping[str, tuple[int, int]], drawn: dict[str, int]) -> None:
    able = [word for word, (low, high) in bounds.items() if low <= 1 <= high]
    if able:
        drawn[able[int(generator.integers(len(able)))]] = 1


def _mixed(generator: np.random.Generator, low: int, high: int) -> int:
    if low <= 1 <= high and generator.random() < 0.25:
        return 1
    return int(generator.integers(low, high, endpoint=True))
