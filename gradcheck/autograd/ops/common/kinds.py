"""Which kinds of numbers an op takes, and in which it computes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcheck.autograd.dtypes import HALVES, named
from gradcheck.errors import DtypeMismatch


def refuse_complex(name: str, dtype: np.dtype) -> None:
    """Raise DtypeMismatch for complex numbers where torch has no form for them: they have no order."""
    if dtype.kind == "c":
        raise DtypeMismatch(f"{name} does not take complex numbers ({dtype})")


def require_floating(name: str, dtype: np.dtype) -> None:
    """Raise DtypeMismatch for integers and booleans where torch does not turn them into floats by itself."""
    if dtype.kind in "biu":
        raise DtypeMismatch(f"{name} takes floating or complex numbers, not {dtype}")


def converted(array: Any, dtype: Any) -> Any:
    """The array in this dtype; complex numbers leave their imaginary part behind where it is real."""
    if array.dtype.kind == "c" and dtype.kind not in "cb":
        array = array.real
    return array.astype(dtype, copy=False)


def accumulate(function: Callable[[Any], Any], input: Any, dtype: Any) -> Any:
    """`function` of `input` in `dtype`: integers count in int64, halves in float32, rounded once at the end."""
    natural = np.dtype(np.int64) if input.dtype.kind in "biu" else input.dtype
    target = named(dtype, natural)
    work = np.dtype(np.float32) if target in HALVES else target
    return np.asarray(function(converted(input, work))).astype(target, copy=False)
