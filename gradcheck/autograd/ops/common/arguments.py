"""Checks of ops' arguments, and the dtypes in which ops compute."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from gradcheck.autograd.dtypes import HALVES, named
from gradcheck.errors import DtypeMismatch, ShapeMismatch

#: Matrices far from singular: one, and a batch of two.
REGULAR = "tensor([[3.0, 1.0, -0.5], [0.4, -2.0, 1.0], [1.5, 0.3, 2.5]])"
BATCH = "tensor([[[2.0, 0.5], [-1.0, 1.5]], [[1.0, -2.0], [0.7, 3.0]]])"


def refuse_complex(name: str, dtype: np.dtype) -> None:
    """Raise DtypeMismatch for complex numbers, which have no order."""
    if dtype.kind == "c":
        raise DtypeMismatch(f"{name} does not take complex numbers ({dtype})")


def require_floating(name: str, dtype: np.dtype) -> None:
    """Raise DtypeMismatch for integers and booleans."""
    if dtype.kind in "biu":
        raise DtypeMismatch(f"{name} takes floating or complex numbers, not {dtype}")


def cast_array(array: Any, dtype: Any) -> Any:
    """Cast the array, to a real dtype by its real part."""
    if array.dtype.kind == "c" and dtype.kind not in "cb":
        array = array.real
    return array.astype(dtype, copy=False)


def accumulate(function: Callable[[Any], Any], input: Any, dtype: Any) -> Any:
    """Apply `function` in `dtype`; sum integers in int64, halves in float32."""
    natural = np.dtype(np.int64) if input.dtype.kind in "biu" else input.dtype
    target = named(dtype, natural)
    work = np.dtype(np.float32) if target in HALVES else target
    result = function(cast_array(input, work))
    if work.kind == "O":  # the sum of objects may be an object of any class
        result = np.asanyarray(result)
    return result.astype(target, copy=False)


def sum_over(input: Any, run: int | tuple[int, ...], keepdim: Any) -> Any:
    """Sum over dimensions by the ufunc, twice as fast as `np.sum` if small."""
    return np.add.reduce(input, axis=run, keepdims=keepdim)


def require_matrices(input: Any, name: str) -> Any:
    """Return `input` if it has at least 2 dimensions, else raise."""
    if input.ndim < 2:
        raise ShapeMismatch(f"{name} takes matrices, not a shape of {list(input.shape)}")
    return input


def factor_elements(A: Any, complete: Any) -> int:
    """Return the size of two factors, narrow or `complete` (square)."""
    rows, columns = map(int, A.shape[-2:])
    least = min(rows, columns)
    width, height = (rows, max(rows, columns)) if complete else (least, least)
    return prod(map(int, A.shape[:-2])) * (rows * width + height * columns + least)


def require_square(input: Any, name: str) -> Any:
    """Return `input` if it is square and floating, else raise."""
    if input.ndim < 2 or input.shape[-1] != input.shape[-2]:
        raise ShapeMismatch(f"{name} takes square matrices, not a shape of {list(input.shape)}")
    require_floating(name, input.dtype)
    return input


def require_full_precision(input: Any, name: str) -> Any:
    """Return `input` if square and not of half precision, else raise."""
    if require_square(input, name).dtype in HALVES:
        raise DtypeMismatch(f"{name} does not take half precision ({input.dtype})", hint="convert it: x.float()")
    return input
