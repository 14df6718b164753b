"""How the work of a pass grows with its graph: counted in calls of functions, and in comparisons of an adapted class's
objects, which is what looking for one in a list takes. No clock changes either.

Chains are long, diamonds use each tensor twice in the next, and fans use one tensor many times. An engine that passes
on at each arrival walks every path through n diamonds, of which there are 2^n.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from gradcheck.engines.base import Engine
from gradcheck.errors import Place
from gradcheck.language.case import Case, Claim, Step
from gradcheck.language.expr.nodes import Call, Expr, Name
from gradcheck.language.problem import Problem

#: Where gradcheck's own code is, whose calls are not an adapted class's.
_HERE = str(Path(__file__).parents[2])
#: By how much the second addition of as many nodes may take more than the first.
MAX_LINEAR_RATIO = 1.2
#: From here on it grows as the number of paths does, and no power does.
_PATHS = 4.0


def chain(nodes: int) -> dict[str, Expr]:
    """h = h * x, over and over."""
    return _entries(nodes, lambda h: Call("mul", (h, Name("x"))))


def diamonds(nodes: int) -> dict[str, Expr]:
    """h = h + h, over and over."""
    return _entries(nodes, lambda h: Call("add", (h, h)))


def fan(nodes: int) -> dict[str, Expr]:
    """x + x + x + …"""
    return _entries(nodes, lambda h: Call("add", (h, Name("x"))))


def _entries(nodes: int, step: Callable[[Expr], Expr]) -> dict[str, Expr]:
    entries: dict[str, Expr] = {}
    last: Expr = Name("x")
    for number in range(1, nodes + 1):
        name = f"h{number}"
        entries[name], last = step(last), Name(name)
    return entries


_LARGE = 64
#: By name, a graph of any size, and the smallest of the three sizes at which it is looked at: n, 2 n, 3 n.
GRAPHS: dict[str, tuple[Callable[[int], dict[str, Expr]], int]] = {
    "chain": (chain, _LARGE),
    "diamonds": (diamonds, 4),
    "fan": (fan, _LARGE),
}


@dataclass(frozen=True, slots=True)
class Growth:
    """How many calls, and comparisons, a graph of n, 2 n and 3 n entries takes."""

    graph: str
    nodes: int
    calls: tuple[int, int, int]

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many entries these graphs have."""
        return tuple(times * self.nodes for times in (1, 2, 3))

    @property
    def ratio(self) -> float:
        """How many times what the first n more take the next n take: 1 in proportion to the graph."""
        one, two, three = self.calls
        return (three - two) / max(two - one, 1)

    @property
    def is_linear(self) -> bool:
        """Whether the work is in proportion to the graph."""
        return self.ratio <= MAX_LINEAR_RATIO

    @property
    def is_exponential(self) -> bool:
        """Whether it grows as the number of paths through the graph."""
        return self.ratio >= _PATHS


def growth_of(engine: Engine, name: str, dtype: str = "float64") -> Growth | None:
    """The growth on one kind of graph; None where the engine cannot be asked for it. Of a graph with many paths the
    larger sizes are asked for where the smaller ones have shown that paths are not walked."""
    graph, nodes = GRAPHS[name]
    engine.evaluate(problem_of(graph(3 * nodes), dtype))  # what is looked up once is no part of it
    found = _growth(engine, name, nodes, dtype)
    if nodes == _LARGE or found is None or found.is_exponential:
        return found
    return _growth(engine, name, _LARGE, dtype) or found


def _growth(engine: Engine, name: str, nodes: int, dtype: str) -> Growth | None:
    graph, _ = GRAPHS[name]
    one, two, three = (_calls(engine, problem_of(graph(times * nodes), dtype)) for times in (1, 2, 3))
    return None if one is None or two is None or three is None else Growth(name, nodes, (one, two, three))


def _calls(engine: Engine, problem: Problem) -> int | None:
    """Calls of functions while an engine evaluates, without those of an adapter, and comparisons of the objects of a
    class that is adapted; None where it raises something."""
    count, ours = 0, _HERE if hasattr(engine, "evaluate_bare") else "\0"
    comparisons: Any = getattr(engine, "comparisons", nullcontext)

    def watch(frame: FrameType, event: str, _: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call") and not frame.f_code.co_filename.startswith(ours)

    before, collects = sys.getprofile(), gc.isenabled()
    gc.disable()  # what it would clear away calls functions, too, of whoever came before
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


def problem_of(entries: Mapping[str, Expr], dtype: str = "float64") -> Problem:
    """A graph over one number, and a pass from its last entry."""
    root = list(entries)[-1]
    claims = {name: Claim("", expr) for name, expr in entries.items()}
    case = Case("growth", "growth", Place(), {}, claims, (Step("backward", roots={root: None}),), dtype=dtype)
    return Problem(case, {"x": np.asarray(0.9, dtype)}, {}, seeds=({root: None},), forwards=({},))
