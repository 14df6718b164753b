"""Straight-line code: calls that reuse the memory of dead arrays.

A ufunc that is given an array to write to allocates none. For large arrays that saves memory, and the time in which the
system clears it. The numbers are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Line(NamedTuple):
    """One call.

    name      the name of its result
    code      the call
    sources   the names in it
    kind      the shape and dtype of its result
    is_fresh  whether its result is an array of its own, and no view of a source
    has_out   whether the call takes `out=`
    """

    name: str
    code: str
    sources: frozenset[str]
    kind: tuple[tuple[int, ...], str]
    is_fresh: bool = False
    has_out: bool = False


def emit(lines: Sequence[Line], kept: frozenset[str], given: str = "") -> list[str]:
    """Return the code of the lines that the names `kept` depend on.

    The last line may write to the array called `given`, if `overwritable(given, *others)` allows it at run time.
    """
    lines = _needed(lines, kept)
    last = {source: number for number, line in enumerate(lines) for source in line.sources}
    free: dict[str, tuple[tuple[int, ...], str]] = {}  # arrays of their own, of which there is no view
    code = []
    for number, line in enumerate(lines):
        if not line.is_fresh:  # its result may be a view of its sources
            given = "" if given in line.sources else given
            for source in line.sources:
                free.pop(source, None)
        unused = {source for source in line.sources - kept if last[source] == number}
        out = next((source for source in sorted(unused) if free.get(source) == line.kind), "")
        if not out and given in unused and line is lines[-1]:
            out = f"overwritable({', '.join((given, *sorted(line.sources - {given})))})"
        if out and line.has_out:
            code.append(f"{line.name} = {line.code[:-1]}, out={out})")
            free.pop(out, None)
        else:
            code.append(f"{line.name} = {line.code}")
        if line.is_fresh:
            free[line.name] = line.kind
    return code


def _needed(lines: Sequence[Line], kept: frozenset[str]) -> list[Line]:
    needed, found = set(kept), []
    for line in reversed(lines):
        if line.name in needed:
            needed |= line.sources
            found.append(line)
    return found[::-1]
