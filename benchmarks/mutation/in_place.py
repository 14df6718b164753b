"""A change put into the functions that are there already, so that nothing has to be imported again for it.

What is made of a function while its file is imported (a table, a signature, a default) stays as it was: what goes
unnoticed so is asked again of a file that is imported with the change in it.
"""

from __future__ import annotations

import ast
import gc
from collections.abc import Iterator
from functools import cache
from types import CodeType, FunctionType
from typing import Any

from benchmarks.mutation.changes import OPS, ROOT, Change, changed

#: What tells two pieces of code apart, even on one line: where each of their instructions stands.
_Place = tuple[str, str, tuple[Any, ...]]


def is_in_functions(change: Change) -> bool:
    """Whether nothing of it is computed as the file is imported, and there are the same functions with it."""
    before, after = _compiled(change)
    return _own(before) == _own(after) and _shapes(before) == _shapes(after)


def put_in(change: Change) -> bool:
    """Gives the functions of this process the changed code; whether there were any. Raises ValueError where functions
    come or go by the change, or what they see of others."""
    known = functions()
    found = False
    for before, after in zip(*map(_all_within, _compiled(change)), strict=True):
        if before != after:
            for function in known.get(_place(before), ()):
                function.__code__ = after
                found = True
    return found


@cache
def functions() -> dict[_Place, list[FunctionType]]:
    """Those of the ops, by where they stand."""
    known: dict[_Place, list[FunctionType]] = {}
    for function in gc.get_objects():
        if type(function) is FunctionType and function.__code__.co_filename.startswith(str(OPS)):
            known.setdefault(_place(function.__code__), []).append(function)
    return known


def _compiled(change: Change) -> tuple[CodeType, CodeType]:
    path = ROOT / change.file
    plain = ast.parse(path.read_text(encoding="utf-8"))
    return compile(plain, str(path), "exec"), compile(changed(change), str(path), "exec")


def _all_within(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _all_within(constant)


def _shapes(code: CodeType) -> list[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    """Of all functions within, what has to be the same for one to take the place of the other."""
    return [(one.co_name, one.co_freevars, one.co_cellvars) for one in _all_within(code)]


def _place(code: CodeType) -> _Place:
    return code.co_filename, code.co_qualname, tuple(code.co_positions())


def _own(code: CodeType) -> tuple[Any, ...]:
    """What it computes, but for the functions within."""
    own = [(type(one), repr(one)) for one in code.co_consts if not isinstance(one, CodeType)]
    return code.co_code, own, code.co_names
