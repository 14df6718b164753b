"""Dtypes: their names, their kinds, their siblings of other precision; and arrays in double precision."""

from __future__ import annotations

from typing import Any

import numpy as np
from ml_dtypes import bfloat16 as _bfloat16

BFLOAT16 = np.dtype(_bfloat16)
_NAMES = (
    *("float16", "float32", "float64", "complex64", "complex128"),
    *("bool", "uint8", "int8", "int16", "int32", "int64"),
)
#: Every dtype of the case language, by its torch name.
BY_NAME: dict[str, np.dtype] = {name: np.dtype(name) for name in _NAMES} | {"bfloat16": BFLOAT16}
#: torch's other names for some of them.
ALIASES = {
    "half": "float16",
    "float": "float32",
    "double": "float64",
    "cfloat": "complex64",
    "cdouble": "complex128",
    "short": "int16",
    "int": "int32",
    "long": "int64",
}

#: The integers that fit in 64 bits.
INT64_RANGE = range(-(2**63), 2**63)

_CATEGORY = {"b": 0, "u": 1, "i": 1, "f": 2, "V": 2, "O": 2, "c": 3}
_FLOAT64, _COMPLEX128 = np.dtype(np.float64), np.dtype(np.complex128)
HALVES = frozenset({np.dtype(np.float16), BFLOAT16})
#: What each lower precision is computed in instead, where rounding is to be told from error.
RAISED = {"float16": "float64", "bfloat16": "float64", "float32": "float64", "complex64": "complex128"}


def category(dtype: np.dtype) -> int:
    """0 for bool, 1 for integers, 2 for floats (bfloat16 too, and objects, somebody's numbers), 3 for complex."""
    return _CATEGORY[dtype.kind]


def is_differentiable(dtype: np.dtype) -> bool:
    """Whether a tensor of this dtype can have a gradient: floats (NumPy calls bfloat16 void, "V") and complex."""
    return dtype.kind in "fcV"


def complex_of(dtype: np.dtype) -> np.dtype:
    """The complex dtype of the same precision; complex64 of half precision, which has none."""
    if dtype.kind == "c":
        return dtype
    return _COMPLEX128 if dtype == _FLOAT64 else np.dtype(np.complex64)


def real_of(dtype: np.dtype) -> np.dtype:
    """The real dtype of the same precision."""
    if dtype.kind != "c":
        return dtype
    return np.dtype(np.float64 if dtype.itemsize == 16 else np.float32)


def double_of(dtype: np.dtype) -> np.dtype:
    """The dtype of double precision for these numbers: complex128 for complex ones, float64 for all others."""
    return _COMPLEX128 if dtype.kind == "c" else _FLOAT64


def named(dtype: Any, otherwise: np.dtype) -> np.dtype:
    """The dtype that an argument names, as a dtype or by its torch name; `otherwise` for None. Raises TypeError."""
    if dtype is None:
        return otherwise
    return BY_NAME[dtype] if isinstance(dtype, str) and dtype in BY_NAME else np.dtype(dtype)


def wide(array: np.ndarray) -> np.ndarray:
    """A copy in double precision: complex128 of a complex array, float64 of any other (half precision, booleans)."""
    return array.astype(double_of(array.dtype))


def largest_finite(array: np.ndarray) -> float:
    """The magnitude of the largest element, in double precision; NaN and infinities do not count. 0 where none does."""
    magnitude = np.abs(array.astype(double_of(array.dtype), copy=False))
    return float(np.max(magnitude, where=np.isfinite(magnitude), initial=0.0))
