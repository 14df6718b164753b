"""Sizes and dimensions as torch counts them: negative ones from the end, and a 0-d tensor taken to have one."""

from __future__ import annotations

from math import prod
from operator import index as as_integer
from typing import Any

import numpy as np

from gradcheck.autograd import ops
from gradcheck.errors import ArgumentError, IndexOutOfRange, ShapeMismatch


def require_integer(value: Any, what: str) -> int:
    """`value` as an int. Raises ArgumentError where it is none (a float, a bool, a list)."""
    if isinstance(value, bool):
        raise ArgumentError(f"{what} must be an integer, not {value}")
    try:
        return as_integer(value)
    except TypeError as error:
        raise ArgumentError(f"{what} must be an integer, not {value!r}") from error


# Sizes ---------------------------------------------------------------------------------------------


def as_shape(size: Any) -> tuple[int, ...]:
    """A size, or several, as a shape. Raises ShapeMismatch for a negative one, ArgumentError for what is no integer."""
    listed = size if isinstance(size, (tuple, list)) else (size,)
    found = tuple(require_integer(s, "a size") for s in listed)
    if any(s < 0 for s in found):
        raise ShapeMismatch(f"a size cannot be negative: {list(found)}")
    return found


def as_partial_shape(listed: Any) -> tuple[int, ...]:
    """Several sizes, of which -1 stands for what is left. Raises ShapeMismatch, ArgumentError."""
    found = tuple(require_integer(size, "a size") for size in listed)
    if any(size < -1 for size in found):
        raise ShapeMismatch(f"a size must be at least 0 (or -1 for what is left), not {list(found)}")
    return found


def broadcast_shape(name: str, *shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The common shape of operands of these shapes. Raises ShapeMismatch."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError as error:
        words = " and ".join(str(list(shape)) for shape in shapes)
        raise ShapeMismatch(f"{name}: shapes {words} cannot be broadcast together") from error


def unbroadcast(cotangent: Any, x: Any) -> Any:
    """A cotangent added up over the dimensions along which `x` was broadcast: of the shape of `x`."""
    return cotangent if cotangent.shape == x.shape else ops.sum_to_size(cotangent, x.shape)


# Dimensions ----------------------------------------------------------------------------------------


def canonical_dim(dim: Any, ndim: int) -> int:
    """`dim` counted from the front: from 0 to ndim - 1 (0 for ndim 0). Raises IndexOutOfRange, ArgumentError."""
    count = ndim or 1
    number = require_integer(dim, "a dimension")
    if not -count <= number < count:
        raise IndexOutOfRange(f"dimension {number} of a tensor with {ndim}; expected {-count} to {count - 1}")
    return number % count


def canonical_dims(dims: Any, ndim: int) -> tuple[int, ...]:
    """Each of `dims` (one, or several that must differ) counted from the front. Raises ShapeMismatch too."""
    listed = dims if isinstance(dims, (tuple, list)) else (dims,)
    found = tuple(canonical_dim(dim, ndim) for dim in listed)
    if len(set(found)) < len(found):
        raise ShapeMismatch(f"a dimension appears twice in {tuple(listed)}")
    return found


# Dimensions that a reduction runs over -------------------------------------------------------------


def reduced_axes(dim: Any, ndim: int) -> tuple[int, ...]:
    """The dimensions that `dim` names, counted from the front; all of them for None and for ()."""
    if type(dim) is int and ndim:
        return (canonical_dim(dim, ndim),)
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        return tuple(range(ndim))
    found = canonical_dims(dim, ndim)
    return tuple(sorted(found)) if ndim else ()


def count_reduced(input: Any, dim: Any) -> int:
    """How many elements of `input` each element of a reduction over `dim` came from."""
    return prod(input.shape[axis] for axis in reduced_axes(dim, input.ndim))


def any_empty(input: Any, run: tuple[int, ...]) -> bool:
    """Whether one of the dimensions `run` has no element."""
    return 0 in [input.shape[axis] for axis in run]


def restore_reduced_dims(reduced: Any, input: Any, dim: Any, keepdim: bool) -> Any:
    """`reduced` with its lost dimensions as dimensions of size 1, so that it broadcasts against `input`."""
    lost = reduced_axes(dim, input.ndim)
    if keepdim or len(lost) == input.ndim:  # a 0-d tensor broadcasts as it is
        return reduced
    for axis in lost:
        reduced = ops.unsqueeze(reduced, axis)
    return reduced
