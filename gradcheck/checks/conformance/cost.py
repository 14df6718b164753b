"""Measure time per op, memory per node, and how the work grows.

Only growth decides anything.
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Sequence
from dataclasses import dataclass

from gradcheck.checks.conformance.work_growth import GRAPHS, Growth, chain, growth_of, problem_of
from gradcheck.engines.base import Engine, own_dtype
from gradcheck.language.problem import Problem

#: The ops of the timed chain, and its runs; the fastest counts.
_OPS, _TIMES = 100, 5


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of a pass; None for what an engine does not support."""

    seconds: tuple[tuple[str, float | None], ...]  # per op, forward and backward, by engine
    bytes_a_node: float | None  # at the peak
    growth: tuple[Growth, ...]


def cost_of(engine: Engine, others: Sequence[Engine] = ()) -> Cost:
    """Return the cost of an engine, and the time of others."""
    dtype = own_dtype(engine) or "float64"
    seconds = tuple((one.name, _seconds(one, own_dtype(one) or "float64")) for one in (engine, *others))
    growth = tuple(found for name in GRAPHS if (found := growth_of(engine, name, dtype)) is not None)
    return Cost(seconds, _bytes(engine, dtype), growth)


def _seconds(engine: Engine, dtype: str) -> float | None:
    problem, times = problem_of(chain(_OPS), dtype), []
    for _ in range(_TIMES):
        start = time.perf_counter()
        found = engine.evaluate(problem)
        times.append(time.perf_counter() - start)
        if found.error is not None:
            return None
    return min(times) / _OPS


def _bytes(engine: Engine, dtype: str) -> float | None:
    """Return the additional peak memory per node of a doubled graph."""
    peaks = [_peak(engine, problem_of(chain(size), dtype)) for size in (_OPS, 2 * _OPS)]
    return None if None in peaks else max(0.0, ((peaks[1] or 0) - (peaks[0] or 0)) / _OPS)


def _peak(engine: Engine, problem: Problem) -> int | None:
    was_on = tracemalloc.is_tracing()
    tracemalloc.start()
    try:
        tracemalloc.reset_peak()
        before, _ = tracemalloc.get_traced_memory()
        found = engine.evaluate(problem)
        return None if found.error is not None else tracemalloc.get_traced_memory()[1] - before
    finally:
        if not was_on:
            tracemalloc.stop()
