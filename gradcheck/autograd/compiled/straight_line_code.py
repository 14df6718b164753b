"""Straight-line code: calls one after the other, written so that an array that nobody asks for again is written over.

A ufunc that is given where to write needs no new array: for few numbers that is a third of its time, for many it saves
the memory and what the system takes to clear it. The numbers are the same. So is an operand that is repeated spread out
before, since NumPy takes longer to see how it is repeated.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import NamedTuple

import numpy as np

#: Ufuncs that take `out` by name alone.
_BY_NAME = (np.maximum, np.minimum)


class Line(NamedTuple):
    """One call.

    name      what its result is called
    code      how it is written
    sources   the names in it
    kind      the shape and dtype of its result
    ufunc     what it calls, if it is a ufunc or as good as one: the result is an array of its own
    operands  how the ufunc and its operands are written; empty for what cannot be told where to write
    """

    name: str
    code: str
    sources: frozenset[str]
    kind: tuple[tuple[int, ...], str]
    ufunc: object = None
    operands: tuple[str, ...] = ()


def written(lines: Sequence[Line], kept: frozenset[str], given: str = "") -> list[str]:
    """The code of these lines, as far as what is `kept` needs them; that is asked for behind them. The last of them may
    write over what it is `given`, if `written_over(given, *others)` says so when it runs."""
    lines = _needed(lines, kept)
    last = {source: number for number, line in enumerate(lines) for source in line.sources}
    free: dict[str, tuple[tuple[int, ...], str]] = {}  # arrays of their own, of which nobody else has a view
    code = []
    for number, line in enumerate(lines):
        if line.ufunc is None:  # which may hand on what it was given
            for source in line.sources:
                free.pop(source, None)
            code.append(f"{line.name} = {line.code}")
            continue
        over = _over(line, free, {s for s in line.sources if last[s] == number and s not in kept})
        free.pop(over, None)
        if not over and given in line.sources and line.operands and line is lines[-1]:
            over = f"written_over({', '.join((given, *sorted(line.sources - {given})))})"
        if over:
            out = f"out={over}" if line.ufunc in _BY_NAME else over
            code.append(f"{line.name} = {line.operands[0]}({', '.join((*line.operands[1:], out))})")
        else:
            code.append(f"{line.name} = {line.code}")
        if not line.code.startswith("asarray("):
            free[line.name] = line.kind
    return code


def _needed(lines: Sequence[Line], kept: frozenset[str]) -> list[Line]:
    needed, found = set(kept), []
    for line in reversed(lines):
        if line.name in needed:
            needed |= line.sources
            found.append(line)
    return found[::-1]


def _over(line: Line, free: dict[str, tuple[tuple[int, ...], str]], unused: set[str]) -> str:
    """The array that the line can write over; "" for none."""
    return next((s for s in sorted(unused) if line.operands and free.get(s) == line.kind), "")


#: Of larger arrays the numbers take longer than what is to be said of them.
SMALL = 1024


@lru_cache(maxsize=1024)
def spreading(shape: tuple[int, ...], target: tuple[int, ...]) -> np.ndarray | None:
    """For each element of a small array of the target's shape, which one of an array of this shape, laid out flat, it
    repeats; None where that need not be said."""
    if shape == target or not shape or not 0 < prod(target) <= SMALL:
        return None
    return np.broadcast_to(np.arange(prod(shape)).reshape(shape), target).copy()
