"""Small questions about plain arrays that every room above asks: their values in double precision, their scale."""

from __future__ import annotations

import numpy as np

from gradcheck.autograd.dtypes import double_of


def wide(array: np.ndarray) -> np.ndarray:
    """A copy in double precision: complex128 of a complex array, float64 of any other (half precision, booleans)."""
    return array.astype(double_of(array.dtype))


def largest_finite(array: np.ndarray) -> float:
    """The magnitude of the largest element, in double precision; NaN and infinities do not count. 0 where none does."""
    magnitude = np.abs(array.astype(double_of(array.dtype), copy=False))
    return float(np.max(magnitude, where=np.isfinite(magnitude), initial=0.0))
