"""Measure time per op, memory per node, and how the work grows.

Only growth decides anything, and no clock measures it. The work is counted in function calls, and in comparisons of an
adapted class's objects, as searching a list needs them. Chains are long, diamonds use each tensor twice, and fans use
one tensor many times. An engine that propagates at each arrival walks all 2^n paths through n diamonds.
"""

from __future__ import annotations

import gc
import sys
import time
import tracemalloc
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from gradcheck.engines.base import AdaptedEngine, Engine, own_dtype
from gradcheck.errors import Place
from gradcheck.language.case import Case, Claim, Step
from gradcheck.language.expr.nodes import Call, Expr, Name
from gradcheck.language.problem import Problem

#: gradcheck's own folder, whose calls do not count for an adapted class.
_HERE = str(Path(__file__).parents[2])
#: The largest ratio between the second and the first addition of as many nodes.
MAX_LINEAR_RATIO = 1.2
#: From this ratio on, the work grows with the number of paths.
_PATHS = 4.0
_LARGE, _X = 64, Name("x")
#: By name, the next entry after h, and the smallest of a graph's sizes n, 2 n and 3 n.
GRAPHS: dict[str, tuple[Callable[[Expr], Expr], int]] = {
    "chain": (lambda h: Call("mul", (h, _X)), _LARGE),
    "diamonds": (lambda h: Call("add", (h, h)), 4),
    "fan": (lambda h: Call("add", (h, _X)), _LARGE),
}


@dataclass(frozen=True, slots=True)
class Growth:
    """The calls and comparisons of graphs with n, 2 n and 3 n entries."""

    graph: str
    nodes: int
    calls: tuple[int, int, int]

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(times * self.nodes for times in (1, 2, 3))

    @property
    def ratio(self) -> float:
        """The work of the next n entries over that of the n before; 1 is linear."""
        one, two, three = self.calls
        return (three - two) / max(two - one, 1)

    @property
    def is_linear(self) -> bool:
        """True if the work is proportional to the graph."""
        return self.ratio <= MAX_LINEAR_RATIO

    @property
    def is_exponential(self) -> bool:
        """True if the work grows with the number of paths."""
        return self.ratio >= _PATHS


def growth_of(engine: Engine, name: str, dtype: str = "float64") -> Growth | None:
    """Return the growth; larger diamonds only if it is not exponential."""
    _, nodes = GRAPHS[name]
    engine.evaluate(problem_of(name, 3 * nodes, dtype))  # so that one-time work does not count
    found = _growth(engine, name, nodes, dtype)
    if nodes == _LARGE or found is None or found.is_exponential:
        return found
    return _growth(engine, name, _LARGE, dtype) or found


def _growth(engine: Engine, name: str, nodes: int, dtype: str) -> Growth | None:
    one, two, three = (_calls(engine, problem_of(name, times * nodes, dtype)) for times in (1, 2, 3))
    return None if one is None or two is None or three is None else Growth(name, nodes, (one, two, three))


def _calls(engine: Engine, problem: Problem) -> int | None:
    """Return calls and comparisons of an evaluation; None if it raises."""
    count, ours = 0, _HERE if isinstance(engine, AdaptedEngine) else "\0"
    comparisons: Any = engine.comparisons if isinstance(engine, AdaptedEngine) else nullcontext

    def watch(frame: FrameType, event: str, _: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call") and not frame.f_code.co_filename.startswith(ours)

    before, collects = sys.getprofile(), gc.isenabled()
    gc.disable()  # its finalizers would call functions too
    sys.setprofile(watch)
    try:
        with comparisons() as compared:
            found = engine.evaluate(problem)
    finally:
        sys.setprofile(before)
        if collects:
            gc.enable()
    is_refused = found.error is not None or any(state.error is not None for state in found.states)
    return None if is_refused else count + (compared.number if compared else 0)


def problem_of(graph: str, nodes: int, dtype: str) -> Problem:
    """Return a graph over one number, with a pass from its last entry."""
    (follow, _), root, last = GRAPHS[graph], f"h{nodes}", _X
    claims: dict[str, Claim] = {}
    for name in (f"h{number}" for number in range(1, nodes + 1)):
        claims[name], last = Claim("", follow(last)), Name(name)
    case = Case("growth", "growth", Place(), {}, claims, (Step("backward", roots={root: None}),), dtype=dtype)
    return Problem(case, {"x": np.asarray(0.9, dtype)}, {}, seeds=({root: None},), forwards=({},))


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
    problem, times = problem_of("chain", _OPS, dtype), []
    for _ in range(_TIMES):
        start = time.perf_counter()
        found = engine.evaluate(problem)
        times.append(time.perf_counter() - start)
        if found.error is not None:
            return None
    return min(times) / _OPS


def _bytes(engine: Engine, dtype: str) -> float | None:
    """Return the additional peak memory per node of a doubled graph."""
    peaks = [_peak(engine, problem_of("chain", size, dtype)) for size in (_OPS, 2 * _OPS)]
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
