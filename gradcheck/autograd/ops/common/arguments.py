"""What ops ask of their arguments, and in which numbers they compute."""

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
    """Raise DtypeMismatch for complex numbers where torch has no form for them: they have no order."""
    if dtype.kind == "c":
        raise DtypeMismatch(f"{name} does not take complex numbers ({dtype})")


def require_floating(name: str, dtype: np.dtype) -> None:
    """Raise DtypeMismatch for integers and booleans where torch does not turn them into floats by itself."""
    if dtype.kind in "biu":
        raise DtypeMismatch(f"{name} takes floating or complex numbers, not {dtype}")


def cast_array(array: Any, dtype: Any) -> Any:
    """The array in this dtype; complex numbers leave their imaginary part behind where it is real."""
    if array.dtype.kind == "c" and dtype.kind not in "cb":
        array = array.real
    return array.astype(dtype, copy=False)


def accumulate(function: Callable[[Any], Any], input: Any, dtype: Any) -> Any:
    """`function` of `input` in `dtype`: integers count in int64, halves in float32, rounded once at the end."""
    natural = np.dtype(np.int64) if input.dtype.kind in "biu" else input.dtype
    target = named(dtype, natural)
    work = np.dtype(np.float32) if target in HALVES else target
    result = function(cast_array(input, work))
    if work.kind == "O":  # the sum of objects may be an object of any class
        result = np.asanyarray(result)
    return result.astype(target, copy=False)


def sum_over(input: Any, run: int | tuple[int, ...], keepdim: Any) -> Any:
    """The sum over these dimensions, by the ufunc itself: `np.sum` takes twice as long for a few numbers."""
    return np.add.reduce(input, axis=run, keepdims=keepdim)


def require_matrices(input: Any, name: str) -> Any:
    """`input`, if it has at least 2 dimensions. Raises ShapeMismatch."""
    if input.ndim < 2:
        raise ShapeMismatch(f"{name} takes matrices, not a shape of {list(input.shape)}")
    return input


def factor_elements(A: Any, complete: Any) -> int:
    """How many elements two factors of these matrices have together: narrow ones, or `complete` square ones."""
    rows, columns = map(int, A.shape[-2:])
    least = min(rows, columns)
    width, height = (rows, max(rows, columns)) if complete else (least, least)
    return prod(map(int, A.shape[:-2])) * (rows * width + height * columns + least)


def require_square(input: Any, name: str) -> Any:
    """`input`, if it is (…, n, n), of floating or complex numbers. Raises ShapeMismatch, DtypeMismatch."""
    if input.ndim < 2 or input.shape[-1] != input.shape[-2]:
        raise ShapeMismatch(f"{name} takes square matrices, not a shape of {list(input.shape)}")
    require_floating(name, input.dtype)
    return input


def require_full_precision(input: Any, name: str) -> Any:
    """Square matrices that are not in half precision, which torch refuses to factorize. Raises DtypeMismatch too."""
    if require_square(input, name).dtype in HALVES:
        raise DtypeMismatch(f"{name} does not take half precision ({input.dtype})", hint="convert it: x.float()")
    return input
