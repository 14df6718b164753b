"""Promotion of dtypes by torch's rules; half precision in float32.

torch ranks the operands of an elementwise op: tensors with dimensions, then 0-d tensors, then Python numbers.
A lower rank changes the result's dtype only if it is of a higher category (bool < integer < float < complex).
Source: https://pytorch.org/docs/stable/tensor_attributes.html#type-promotion-doc

Promotion looks at the kind of each argument alone (`kind_of`), never at its elements. `conversion` therefore caches
its results by the op and the kinds; it is a pure function of these, so the cache changes no result.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from gradcheck.autograd.dtypes import BFLOAT16, HALVES, category, complex_of
from gradcheck.autograd.modes import default_dtype
from gradcheck.errors import DtypeMismatch

ARRAYS = (np.ndarray, np.generic)
_NUMBERS = (bool, int, float, complex)
_BOOL = np.dtype(bool)

#: The dtype of an array, in a tuple if the array has no dimensions; the type of any other value.
Kind = Any


def kind_of(value: Any) -> Kind:
    """Return the kind of a value, on which promotion depends."""
    dtype = getattr(value, "dtype", None)
    return type(value) if dtype is None else dtype if value.ndim else (dtype,)


def kinds_of(args: Sequence[Any], sequence: int | None) -> tuple[tuple[Kind, ...], tuple[Kind, ...]]:
    """Return the kinds of arguments, and of the items of a `sequence`."""
    kinds = [  # `kind_of`, written out: every op comes here
        (value.dtype if value.ndim else (value.dtype,)) if isinstance(value, ARRAYS) else type(value) for value in args
    ]
    return tuple(kinds), () if sequence is None else tuple(map(kind_of, args[sequence]))


def result_dtype(operands: Sequence[Any]) -> np.dtype:
    """Return the dtype that torch gives an elementwise op on operands."""
    return _common_dtype(map(kind_of, operands), default_dtype())


def _common_dtype(kinds: Iterable[Kind], default: np.dtype) -> np.dtype:
    ranks: list[np.dtype | None] = [None, None, None]
    for kind in kinds:
        if isinstance(kind, np.dtype):
            rank, dtype = 0, kind
        elif isinstance(kind, tuple):
            rank, dtype = 1, kind[0]
        elif issubclass(kind, _NUMBERS):
            rank, dtype = 2, _dtype_of_number(kind, default)
        else:
            continue
        known = ranks[rank]
        ranks[rank] = dtype if known is None else _common(known, dtype)
    present = [dtype for dtype in ranks if dtype is not None]
    result = present[0]
    for dtype in present[1:]:
        if category(dtype) > category(result):
            result = complex_of(result) if category(dtype) == 3 and category(result) == 2 else dtype
    return result


def _dtype_of_number(kind: type, default: np.dtype) -> np.dtype:
    if issubclass(kind, bool):
        return _BOOL
    if issubclass(kind, int):
        return np.dtype(np.int64)
    return default if issubclass(kind, float) else complex_of(default)


def _common(a: np.dtype, b: np.dtype) -> np.dtype:
    """Return the dtype in which two of one rank are combined."""
    if a == b:
        return a
    low, high = sorted((a, b), key=category)
    if category(low) == category(high):
        if BFLOAT16 not in (a, b) or category(low) != 2:
            return np.result_type(a, b)
        other = b if a == BFLOAT16 else a
        return np.dtype(np.float32) if other == np.float16 else other
    if category(low) == 2 and low == np.float64:  # the other is complex
        return np.dtype(np.complex128)
    return high


# What an op's arguments become ---------------------------------------------------------------------


class Conversion(NamedTuple):
    """Conversion of an op's arguments before its forward.

    dtype   the common dtype of the operands of an elementwise op; None for any other op
    places  the operands that must be converted to it
    half    where the op computes in float32 instead, the half precision to which its result is rounded; or None
    """

    dtype: np.dtype | None
    places: tuple[int, ...]
    half: np.dtype | None

    def apply(self, args: Sequence[Any]) -> Sequence[Any]:
        """Return the arguments with converted operands."""
        if not self.places:
            return args
        converted = list(args)
        for place in self.places:
            converted[place] = np.asanyarray(args[place], self.dtype)
        return converted


@lru_cache(maxsize=4096)
def conversion(op: Any, kinds: tuple[Kind, ...], listed: tuple[Kind, ...], default: np.dtype) -> Conversion:
    """Return the conversion of arguments of these kinds; cached.

    Raises DtypeMismatch where the op does not take them.
    """
    if op.numeric and {bool, _BOOL, (_BOOL,)}.intersection((*kinds[:2], *listed)):
        raise DtypeMismatch(f"{op.name} does not take booleans", hint="write ~ for 1 - mask, or mask.double()")
    if op.uniform:
        _require_one(op.name, _dtypes((*kinds, *listed)))
    dtype, places = _operands(op, kinds, default) if op.elementwise else (None, ())
    after = (dtype if place in places else kind for place, kind in enumerate(kinds))
    found = list(_dtypes((*after, *listed)))
    if op.rounds or HALVES.isdisjoint(found):
        return Conversion(dtype, places, None)
    return Conversion(dtype, places, dtype or _common_dtype([one for one in found if one.kind in "fVc"], default))


def _operands(op: Any, kinds: tuple[Kind, ...], default: np.dtype) -> tuple[np.dtype | None, tuple[int, ...]]:
    """Return the operands' common dtype, or None; and those to convert."""
    places = [place for place in range(int(op.masked), min(len(op.rules), len(kinds))) if _is_operand(kinds[place])]
    if not places:
        return None, ()
    operands = [kinds[place] for place in places]
    dtype = _common_dtype(operands, default)
    if op.floating and dtype.kind in "biu":
        dtype = default
    if "bifc"[category(dtype)] not in op.takes:
        raise DtypeMismatch(f"{op.name} does not take {dtype}")
    others = tuple(place for place in places if not isinstance(kinds[place], np.dtype) or kinds[place] != dtype)
    return dtype, () if all(kinds[place] == (dtype,) for place in others) else others


def _is_operand(kind: Kind) -> bool:
    return isinstance(kind, (np.dtype, tuple)) or issubclass(kind, _NUMBERS)


def _dtypes(kinds: Iterable[Kind]) -> Iterator[np.dtype]:
    """Yield the dtypes of the arrays among arguments of these kinds."""
    for kind in kinds:
        if isinstance(kind, np.dtype):
            yield kind
        elif isinstance(kind, tuple):
            yield kind[0]


def require_one_dtype(name: str, *tensors: Any) -> None:
    """Raise DtypeMismatch unless all `tensors` have the same dtype."""
    _require_one(name, (tensor.dtype for tensor in tensors))


def _require_one(name: str, dtypes: Iterable[np.dtype]) -> None:
    found = set(dtypes)
    if len(found) > 1:
        words = " and ".join(sorted(str(dtype) for dtype in found))
        raise DtypeMismatch(f"{name}: expected all tensors to have the same dtype, not {words}")


# Half precision ------------------------------------------------------------------------------------


def in_single(value: Any) -> Any:
    """Return half-precision arrays as float32, in lists too."""
    if isinstance(value, list):
        return [in_single(item) for item in value]
    return value.astype(np.float32) if isinstance(value, ARRAYS) and value.dtype in HALVES else value


def rounded_to(half: np.dtype, result: Any) -> Any:
    """Round arrays computed in float32 to half precision."""
    if isinstance(result, tuple):
        return tuple(rounded_to(half, part) for part in result)
    array = np.asanyarray(result)
    return array.astype(half) if array.dtype == np.float32 else array
