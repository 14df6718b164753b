"""Trace ops and gradient rules, as straight-line code.

Forwards and rules branch on no value, so they make the same calls for all arrays of one shape and dtype. Applied to
traced arrays, they leave a list of calls with all other arguments filled in, which can be run again. Code that looks at
a value cannot be traced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, NoReturn

import numpy as np

from gradcheck.autograd.compiled.compiled_node import DTYPES
from gradcheck.autograd.node import array_attributes
from gradcheck.autograd.op import Op
from gradcheck.autograd.operators import Operators

#: Values that are written as literals; all others get a name.
_LITERAL = (int, bool, type(None))


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

    Calls reuse the memory of dead arrays. A ufunc that is given an array to write to allocates none: for large arrays
    that saves memory, and the time in which the system clears it. The numbers are the same. The last line may write to
    the array called `given`, if `overwritable(given, *others)` allows it at run time.
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


class Untraceable(Exception):
    """Raised by code that looks at a value."""


@array_attributes("data", ("shape", "dtype", "ndim", "size"))
class Traced:
    """A value known by shape, dtype and its name in the generated code."""

    __slots__ = ("data", "name", "trace")
    shape: tuple[int, ...]
    dtype: np.dtype
    ndim: int
    size: int

    def __init__(self, data: np.ndarray, name: str, trace: Any) -> None:
        self.data, self.name, self.trace = data, name, trace

    @classmethod
    def __apply_op__(cls, op: Op, args: tuple[Any, ...]) -> Any:
        return next(arg for arg in flat(args) if isinstance(arg, Traced)).trace.apply(op, args)

    def _look(self, *args: Any, **settings: Any) -> NoReturn:
        raise Untraceable

    __bool__ = __int__ = __float__ = __complex__ = __index__ = __len__ = __iter__ = __array__ = _look


class Trace:
    """The calls so far, and the values by name."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.names: dict[str, Any] = {}
        self._known: dict[int, tuple[str, Any]] = {}
        self._count = 0

    def name_of(self, value: Any) -> str:
        """Return the code of an argument without traced values."""
        if type(value) in _LITERAL:
            return repr(value)
        if id(value) not in self._known:
            name = f"c{len(self.names)}"
            self._known[id(value)] = (name, value)  # kept, so that no other value gets its id
            if type(value) is np.ndarray:
                value = value.copy()
                value.flags.writeable = False
            self.names[name] = value
            return name
        return self._known[id(value)][0]

    def write(self, arg: Any) -> str:
        """Return the code of an argument."""
        if isinstance(arg, Traced):
            return arg.name
        if isinstance(arg, (list, tuple)) and any(isinstance(item, Traced) for item in flat(arg)):
            items = "".join(f"{self.write(item)}, " for item in arg)
            return f"[{items}]" if type(arg) is list else f"({items})"
        return self.name_of(arg)

    def write_all(self, args: Iterable[Any]) -> str:
        """Return the code of a call's arguments."""
        return ", ".join(map(self.write, args))

    def code(self, kept: Any, given: str = "") -> list[str]:
        """Take the calls so far; return those that `kept` needs (see `emit`)."""
        lines, self.lines = self.lines, []
        return emit(lines, frozenset(item.name for item in flat(kept) if isinstance(item, Traced)), given)

    def new_name(self) -> str:
        """Return the name of the next result."""
        self._count += 1
        return f"t{self._count}"


# Tensors ---------------------------------------------------------------------------------------------


class TracedTensor(Traced, Operators):
    """A traced value that is a tensor when the code runs."""

    __slots__ = ()
    requires_grad = True


class TensorTrace(Trace):
    """The ops of a composite op, each by a compiled function if it has one."""

    def __init__(self, kind: Any, compiled: Callable[[Op, tuple[Any, ...]], Callable[..., Any] | None]) -> None:
        super().__init__()
        self._general, self._compiled = kind.__apply_op__, compiled

    def apply(self, op: Op, args: tuple[Any, ...]) -> TracedTensor:
        """Record an op. Raises Untraceable if its result depends on values."""
        values = [plain_value(arg) for arg in args]
        if any(p.name == "generator" for p in op.parameters) or depends_on_values(op, values):
            raise Untraceable
        data = op.compute(values)
        if type(data) is not np.ndarray or data.dtype not in DTYPES:
            raise Untraceable
        traced = [arg for arg in flat(args) if isinstance(arg, Traced)]
        function = self._compiled(op, args)
        if function is None:
            code = f"{self.name_of(self._general)}({self.name_of(op)}, [{self.write_all(args)}])"
        else:
            code = f"{self.name_of(function)}({self.write_all(traced)})"
        made = TracedTensor(data, self.new_name(), self)
        self.lines.append(Line(made.name, code, frozenset(arg.name for arg in traced), (data.shape, data.dtype.char)))
        return made


# Arguments -------------------------------------------------------------------------------------------


def flat(args: Iterable[Any]) -> list[Any]:
    """Return arguments, and those in lists of them, in their order."""
    found: list[Any] = []
    for arg in args:
        found += flat(arg) if isinstance(arg, (list, tuple)) else [arg]
    return found


def plain_value(arg: Any) -> Any:
    """Return an argument with the values of traced ones in it."""
    if isinstance(arg, (list, tuple)):
        return type(arg)(map(plain_value, arg))
    return arg.data if isinstance(arg, Traced) else arg


def constant(value: Any, dtype: Any) -> np.ndarray:
    """Return a number as a read-only 0-d array, shared except for zeros."""
    return _constant(value, dtype) if value or type(value) is int else np.asarray(value, dtype)


@lru_cache(maxsize=1024)
def _constant(value: Any, dtype: Any) -> np.ndarray:
    array = np.asarray(value, dtype)
    array.flags.writeable = False
    return array


def depends_on_values(op: Op, values: list[Any]) -> bool:
    """Return whether values decide the result's shape, as a mask does."""
    if op.name == "one_hot":
        return True
    if op.name not in ("getitem", "index_adjoint", "index_put"):
        return False
    return any(isinstance(value, np.ndarray) and value.dtype.char in "?B" for value in flat(values[1:2]))
