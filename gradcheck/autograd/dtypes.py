"""Dtypes: names, kinds, relatives of other precision; wide arrays."""

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
#: By lower precision, the higher one in which rounding errors are measured.
RAISED = {"float16": "float64", "bfloat16": "float64", "float32": "float64", "complex64": "complex128"}


def category(dtype: np.dtype) -> int:
    """Return 0 for bool, 1 for integers, 2 for floats, 3 for complex."""
    return _CATEGORY[dtype.kind]


def is_differentiable(dtype: np.dtype) -> bool:
    """Return whether this dtype can have a gradient; bfloat16 is of kind "V"."""
    return dtype.kind in "fcV"


def complex_of(dtype: np.dtype) -> np.dtype:
    """Return the complex dtype of this precision; complex64 of halves."""
    if dtype.kind == "c":
        return dtype
    return _COMPLEX128 if dtype == _FLOAT64 else np.dtype(np.complex64)


def real_of(dtype: np.dtype) -> np.dtype:
    """Return the real dtype of this precision."""
    if dtype.kind != "c":
        return dtype
    return np.dtype(np.float64 if dtype.itemsize == 16 else np.float32)


def double_of(dtype: np.dtype) -> np.dtype:
    """Return complex128 for complex dtypes, float64 for all others."""
    return _COMPLEX128 if dtype.kind == "c" else _FLOAT64


def named(dtype: Any, otherwise: np.dtype) -> np.dtype:
    """Return a dtype given as such or by torch's name. Raises TypeError."""
    if dtype is None:
        return otherwise
    return BY_NAME[dtype] if isinstance(dtype, str) and dtype in BY_NAME else np.dtype(dtype)


def wide(array: np.ndarray) -> np.ndarray:
    """Return a copy in double precision: complex128 or float64."""
    return array.astype(double_of(array.dtype))


def largest_finite(array: np.ndarray) -> float:
    """Return the largest finite magnitude in double precision; 0 if none."""
    magnitude = np.abs(array.astype(double_of(array.dtype), copy=False))
    return float(np.max(magnitude, where=np.isfinite(magnitude), initial=0.0))
