"""Dtypes: their names, and how tensors of different ones are combined, by torch's rules.

torch ranks the operands of an elementwise op: tensors with dimensions, then 0-d tensors, then Python numbers.
A lower rank changes the result's dtype only if it is of a higher category (bool < integer < float < complex).
Source: https://pytorch.org/docs/stable/tensor_attributes.html#type-promotion-doc
"""

from __future__ import annotations

from typing import Any

import numpy as np
from ml_dtypes import bfloat16 as _bfloat16

from gradcheck.autograd.modes import default_dtype

BFLOAT16 = np.dtype(_bfloat16)

#: Every dtype of the case language, by its torch name.
BY_NAME: dict[str, np.dtype] = {
    name: np.dtype(name)
    for name in (
        *("float16", "float32", "float64", "complex64", "complex128"),
        *("bool", "uint8", "int8", "int16", "int32", "int64"),
    )
}
BY_NAME["bfloat16"] = BFLOAT16
ALIASES = {"half": "float16", "float": "float32", "double": "float64", "cfloat": "complex64",
           "cdouble": "complex128", "short": "int16", "int": "int32", "long": "int64"}  # fmt: skip

_CATEGORY = {"b": 0, "u": 1, "i": 1, "f": 2, "V": 2, "c": 3}
_FLOAT64, _COMPLEX128 = np.dtype(np.float64), np.dtype(np.complex128)
_COMPLEX_OF = {_FLOAT64: _COMPLEX128}
HALVES = frozenset({np.dtype(np.float16), BFLOAT16})
#: What each lower precision is computed in instead, where rounding is to be told from error.
RAISED = {"float16": "float64", "bfloat16": "float64", "float32": "float64", "complex64": "complex128"}


def category(dtype: np.dtype) -> int:
    """0 for bool, 1 for integers, 2 for floats (bfloat16 too), 3 for complex."""
    return _CATEGORY[dtype.kind]


def is_differentiable(dtype: np.dtype) -> bool:
    """Whether a tensor of this dtype can have a gradient."""
    return dtype.kind in "fcV"


def complex_of(dtype: np.dtype) -> np.dtype:
    """The complex dtype of the same precision."""
    return _COMPLEX_OF.get(dtype, np.dtype(np.complex64)) if dtype.kind != "c" else dtype


def real_of(dtype: np.dtype) -> np.dtype:
    """The real dtype of the same precision."""
    if dtype.kind != "c":
        return dtype
    return np.dtype(np.float64 if dtype.itemsize == 16 else np.float32)


def double_of(dtype: np.dtype) -> np.dtype:
    """The dtype of double precision for these numbers: complex128 for complex ones, float64 for all others."""
    return _COMPLEX128 if dtype.kind == "c" else _FLOAT64


def _pair(a: np.dtype, b: np.dtype) -> np.dtype:
    if a == b:
        return a
    if category(a) == category(b) == 2 and BFLOAT16 in (a, b):
        other = b if a == BFLOAT16 else a
        return np.dtype(np.float32) if other == np.float16 else other
    if category(a) != category(b) and max(category(a), category(b)) == 2:
        return a if category(a) == 2 else b  # an integer never widens a float
    if {category(a), category(b)} == {2, 3}:
        real, other = (a, b) if category(a) == 2 else (b, a)
        return np.dtype(np.complex128) if real == np.float64 else other
    return np.result_type(a, b) if category(a) == category(b) else (a if category(a) > category(b) else b)


def _scalar_dtype(value: Any) -> np.dtype:
    if isinstance(value, bool):
        return np.dtype(bool)
    if isinstance(value, int):
        return np.dtype(np.int64)
    return default_dtype() if isinstance(value, float) else complex_of(default_dtype())


def result_dtype(operands: list[Any]) -> np.dtype:
    """The dtype of an elementwise op on arrays and Python numbers, as torch has it."""
    ranks: list[np.dtype | None] = [None, None, None]
    for operand in operands:
        if isinstance(operand, (np.ndarray, np.generic)):
            rank, dtype = (0 if operand.ndim else 1), operand.dtype
        elif isinstance(operand, (bool, int, float, complex)):
            rank, dtype = 2, _scalar_dtype(operand)
        else:
            continue
        known = ranks[rank]
        ranks[rank] = dtype if known is None else _pair(known, dtype)
    present = [dtype for dtype in ranks if dtype is not None]
    result = present[0]
    for dtype in present[1:]:
        if category(dtype) > category(result):
            result = complex_of(result) if category(dtype) == 3 and category(result) == 2 else dtype
    return result
