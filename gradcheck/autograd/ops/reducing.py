"""What reductions share: which dimensions they run over, and how a result lines up with what it came from."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.dtypes import named
from gradcheck.autograd.ops.dims import canonical_all
from gradcheck.autograd.ops.kinds import converted
from gradcheck.autograd.ops.shape import unsqueeze


def axes(dim: Any, ndim: int) -> tuple[int, ...]:
    """The dimensions that `dim` names, counted from the front; all of them for None and for ()."""
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        return tuple(range(ndim))
    found = canonical_all(dim, ndim)
    return tuple(sorted(found)) if ndim else ()


def count(input: Any, dim: Any) -> int:
    """How many elements of `input` each element of a reduction over `dim` came from."""
    return prod(input.shape[axis] for axis in axes(dim, input.ndim))


def restored(reduced: Any, input: Any, dim: Any, keepdim: bool) -> Any:
    """`reduced` with its lost dimensions as dimensions of size 1, so that it broadcasts against `input`."""
    lost = axes(dim, input.ndim)
    if keepdim or len(lost) == input.ndim:  # a 0-d tensor broadcasts as it is
        return reduced
    for axis in lost:
        reduced = unsqueeze(reduced, axis)
    return reduced


def accumulate(function: Any, input: Any, dtype: Any) -> Any:
    """`function` of `input` in `dtype`: integers count in int64, halves in float32, rounded once at the end."""
    natural = np.dtype(np.int64) if input.dtype.kind in "biu" else input.dtype
    target = named(dtype, natural)
    work = np.dtype(np.float32) if target in dtypes.HALVES else target
    return np.asarray(function(converted(input, work))).astype(target, copy=False)
