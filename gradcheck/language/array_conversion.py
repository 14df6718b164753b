"""Values of expressions as arrays, in the dtypes of a case."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.errors import ArgumentError


def copy_as_dtype(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return a copy in a dtype, or in its complex form for complex numbers."""
    if array.dtype.kind == "c" and dtype.kind != "c":
        dtype = dtypes.complex_of(dtype)
    return np.array(array, dtype=dtype, order="C")


def as_array(value: Any, dtype: np.dtype) -> np.ndarray:
    """Return a value as an array; Python floats get the default dtype.

    Raises ArgumentError for other values.
    """
    if isinstance(value, np.ndarray):
        return value
    if isinstance(value, (bool, int, np.generic)):
        return _within_64_bits(np.asarray(value))
    if isinstance(value, (float, complex)):
        target = dtypes.complex_of(dtype) if isinstance(value, complex) else dtypes.real_of(dtype)
        return np.asarray(value, dtype=target)
    numbers = isinstance(value, (list, tuple)) and all(isinstance(item, (bool, int, float, complex)) for item in value)
    if numbers and isinstance(value, list):
        return _within_64_bits(np.asarray(value))
    if numbers and value:
        sizes = ", ".join(map(str, value))
        hint = f"write randn({sizes}) for a tensor of that shape, [{sizes}] for these numbers"
        raise ArgumentError("the value is a tuple of numbers, not a tensor", hint=hint)
    if isinstance(value, list):
        raise ArgumentError("the value is a list of lists, not a tensor", hint="write tensor([…]), or take quotes away")
    what = "several tensors" if isinstance(value, tuple) else f"a {type(value).__name__}"
    raise ArgumentError(f"the value is {what}, not a tensor", hint="index it, or write tensor([…])")


def _within_64_bits(array: np.ndarray) -> np.ndarray:
    """Return the array; raise ArgumentError if NumPy needed more than 64 bits."""
    if array.dtype == np.uint64 or array.dtype.kind == "O":
        raise ArgumentError("an integer that does not fit in 64 bits", hint="write it as a float: 1e20")
    return array
