"""What promotion comes to, remembered by the kinds of the arguments: mostly the arrays have one dtype, which stays.

The definition is `Op.compute`'s general way. Where that would leave every array as it is, only numbers are to be put
into the arrays' dtype, and which these are depends on types and dtypes alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from gradcheck.autograd.dtypes import HALVES, category

#: By their types: the Python numbers that an elementwise op takes beside arrays, and the category of each.
_NUMBERS = {bool: 0, int: 1, float: 2, complex: 3}
#: The dtypes of most numbers, which every op of two operands takes.
_WIDE = frozenset({np.dtype(np.float64), np.dtype(np.float32), np.dtype(np.complex128)})
#: Two that meet in a complex step: NumPy makes of them what promotion does.
_REAL_AND_COMPLEX = frozenset({np.dtype(np.float64), np.dtype(np.complex128)})
#: The types of arrays of which nothing but the dtype matters; whoever makes arrays of his own that are such adds them.
ALIKE: set[type] = {np.ndarray}


class Settled(NamedTuple):
    """The dtype of all operands, and which arguments are numbers to be put into it."""

    dtype: np.dtype | None
    numbers: tuple[int, ...]

    def convert(self, args: Sequence[Any]) -> Sequence[Any]:
        """The arguments with arrays for these numbers."""
        if not self.numbers:
            return args
        converted = list(args)
        for position in self.numbers:
            converted[position] = constant(converted[position], self.dtype)
        return converted


def of_two(ufunc: np.ufunc, a: Any, b: Any) -> np.ndarray | None:
    """What settling comes to where two arrays of one dtype meet, or a real and a complex one, or one and a float; None
    where it must be asked."""
    if type(a) in ALIKE:
        if type(b) is float:
            b = constant(b, a.dtype) if a.dtype in _WIDE else None
        elif type(b) not in ALIKE or a.dtype not in _WIDE or not _meet(a.dtype, b.dtype):
            return None
    elif type(b) in ALIKE and type(a) is float and b.dtype in _WIDE:
        a = constant(a, b.dtype)
    else:
        return None
    return None if b is None else np.asanyarray(ufunc(a, b))


def _meet(a: np.dtype, b: np.dtype) -> bool:
    return a is b or {a, b} == _REAL_AND_COMPLEX


def kinds_of(args: Sequence[Any], sequence: int | None) -> tuple[Any, ...]:
    """What promotion looks at: the dtype of an array, the type of anything else; of the argument that is a `sequence`
    those of its items."""
    kinds = [value.dtype if type(value) in ALIKE else type(value) for value in args]
    if sequence is not None:
        kinds[sequence] = tuple([item.dtype if type(item) in ALIKE else type(item) for item in args[sequence]])
    return tuple(kinds)


def settled(op: Any, kinds: tuple[Any, ...]) -> Settled | None:
    """How promotion leaves arguments of these kinds for `op`; None where it has more to do, or a mistake to tell."""
    listed = () if op.sequence is None else kinds[op.sequence]
    dtypes = [kind for kind in (*kinds, *listed) if isinstance(kind, np.dtype)]
    others = [kind for kind in (*kinds, *listed) if isinstance(kind, type)]
    if any(dtype in HALVES for dtype in dtypes) or any(issubclass(kind, (np.generic, np.ndarray)) for kind in others):
        return None
    if op.uniform and len(set(dtypes)) > 1:
        return None
    if op.numeric and (bool in others or np.dtype(bool) in dtypes):
        return None
    return _of_operands(op, kinds) if op.elementwise else Settled(None, ())


def _of_operands(op: Any, kinds: tuple[Any, ...]) -> Settled | None:
    places = range(int(op.masked), min(len(op.rules), len(kinds)))
    dtypes = {kinds[place] for place in places if isinstance(kinds[place], np.dtype)}
    if len(dtypes) != 1:
        return None
    (dtype,) = dtypes
    becomes_floating = op.floating and dtype.kind in "biu"
    if becomes_floating or "bifc"[category(dtype)] not in op.takes:
        return None
    numbers = [place for place in places if kinds[place] in _NUMBERS]
    if any(_NUMBERS[kinds[place]] > category(dtype) for place in numbers):
        return None
    return Settled(dtype, tuple(numbers))


def constant(value: Any, dtype: Any) -> Any:
    """A Python number as a 0-d array, one for all that are equal; but 0.0 equals -0.0."""
    return _constant(value, dtype) if value or type(value) is int else np.asarray(value, dtype)


@lru_cache(maxsize=1024)
def _constant(value: Any, dtype: Any) -> np.ndarray:
    array = np.asarray(value, dtype)
    array.flags.writeable = False
    return array
