"""Operands of different dtypes combined by torch's rules; half precision computed in float32, as torch does on a CPU.

torch ranks the operands of an elementwise op: tensors with dimensions, then 0-d tensors, then Python numbers.
A lower rank changes the result's dtype only if it is of a higher category (bool < integer < float < complex).
Source: https://pytorch.org/docs/stable/tensor_attributes.html#type-promotion-doc
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcheck.autograd.dtypes import BFLOAT16, HALVES, category, complex_of
from gradcheck.autograd.modes import default_dtype
from gradcheck.errors import ArgumentError, DtypeMismatch

ARRAYS = (np.ndarray, np.generic)
_OPERANDS = (np.ndarray, np.generic, bool, int, float, complex)


def result_dtype(operands: Sequence[Any]) -> np.dtype:
    """The dtype of an elementwise op on arrays and Python numbers, as torch has it; other values do not count."""
    ranks: list[np.dtype | None] = [None, None, None]
    for operand in operands:
        if isinstance(operand, ARRAYS):
            rank, dtype = (0 if operand.ndim else 1), operand.dtype
        elif isinstance(operand, (bool, int, float, complex)):
            rank, dtype = 2, _dtype_of_number(operand)
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


def _dtype_of_number(value: Any) -> np.dtype:
    if isinstance(value, bool):
        return np.dtype(bool)
    if isinstance(value, int):
        return np.dtype(np.int64)
    return default_dtype() if isinstance(value, float) else complex_of(default_dtype())


def _common(a: np.dtype, b: np.dtype) -> np.dtype:
    """The dtype that two of one rank are combined in."""
    if a == b:
        return a
    low, high = sorted((a, b), key=category)
    if category(low) == category(high):
        if BFLOAT16 not in (a, b) or category(low) != 2:
            return np.result_type(a, b)
        other = b if a == BFLOAT16 else a
        return np.dtype(np.float32) if other == np.float16 else other
    if category(low) == 2 and low == np.float64:  # and the other is complex
        return np.dtype(np.complex128)
    return high


def promote(name: str, args: list[Any], start: int, stop: int, *, floating: bool) -> np.dtype:
    """Convert the operands among `args[start:stop]` of the op `name` to their common dtype, in place, and return that.

    With `floating`, integers and booleans become the default dtype. Raises ArgumentError where there is no operand.
    """
    operands = [a for a in args[start:stop] if isinstance(a, _OPERANDS)]
    if not operands:
        raise ArgumentError(f"{name} takes tensors and numbers, not {args[start]!r:.60}")
    first: np.dtype | None = getattr(operands[0], "dtype", None)
    becomes_floating = floating and first is not None and first.kind in "biu"
    if first is not None and not becomes_floating and all(getattr(a, "dtype", None) is first for a in operands):
        return first
    target = result_dtype(operands)
    if floating and target.kind in "biu":
        target = default_dtype()
    for i in range(start, stop):
        if isinstance(args[i], _OPERANDS):
            args[i] = np.asanyarray(args[i], dtype=target)
    return target


def require_one_dtype(name: str, *tensors: Any) -> None:
    """Raise DtypeMismatch unless all `tensors` have the same dtype."""
    found = {tensor.dtype for tensor in tensors}
    if len(found) > 1:
        words = " and ".join(sorted(str(dtype) for dtype in found))
        raise DtypeMismatch(f"{name}: expected all tensors to have the same dtype, not {words}")


def in_single(value: Any) -> Any:
    """Half-precision arrays as float32, in a list too; anything else as it is."""
    if isinstance(value, list):
        return [in_single(item) for item in value]
    return value.astype(np.float32) if isinstance(value, ARRAYS) and value.dtype in HALVES else value


def rounded_to(half: np.dtype, result: Any) -> Any:
    """An array, or each of a tuple of arrays, in half precision where it was computed in float32, else as it is."""
    if isinstance(result, tuple):
        return tuple(rounded_to(half, part) for part in result)
    array = np.asanyarray(result)
    return array.astype(half) if array.dtype == np.float32 else array
