"""Sizes and dimensions as torch counts them, negative ones from the end.

A 0-d tensor counts as having one dimension.
"""

from __future__ import annotations

from math import prod
from operator import index as as_integer
from typing import Any

import numpy as np

from gradcheck.autograd import ops
from gradcheck.errors import ArgumentError, IndexOutOfRange, ShapeMismatch


def require_integer(value: Any, what: str) -> int:
    """Return `value` as an int. Raises ArgumentError for floats and bools."""
    if isinstance(value, bool):
        raise ArgumentError(f"{what} must be an integer, not {value}")
    try:
        return as_integer(value)
    except TypeError as error:
        raise ArgumentError(f"{what} must be an integer, not {value!r}") from error


# Sizes ---------------------------------------------------------------------------------------------


def as_shape(size: Any) -> tuple[int, ...]:
    """Return one size or several as a shape. Raises ShapeMismatch."""
    listed = size if isinstance(size, (tuple, list)) else (size,)
    found = tuple(require_integer(s, "a size") for s in listed)
    if any(s < 0 for s in found):
        raise ShapeMismatch(f"a size cannot be negative: {list(found)}")
    return found


def as_partial_shape(listed: Any) -> tuple[int, ...]:
    """Return sizes, of which -1 is to be inferred. Raises ShapeMismatch."""
    found = tuple(require_integer(size, "a size") for size in listed)
    if any(size < -1 for size in found):
        raise ShapeMismatch(f"a size must be at least 0 (or -1 for what is left), not {list(found)}")
    return found


def broadcast_shape(name: str, *shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the broadcast shape. Raises ShapeMismatch."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError as error:
        words = " and ".join(str(list(shape)) for shape in shapes)
        raise ShapeMismatch(f"{name}: shapes {words} cannot be broadcast together") from error


def own_broadcast_shape(name: str, *shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the broadcast shape of sizes that may be symbolic, else raise."""
    ndim = len(broadcast_shape(name, *shapes))
    aligned = [(1,) * (ndim - len(shape)) + shape for shape in shapes]
    return tuple(next((size for size in sizes if size != 1), sizes[0]) for sizes in zip(*aligned, strict=True))


def unbroadcast(cotangent: Any, x: Any) -> Any:
    """Sum a cotangent over broadcast dimensions, to the shape of `x`."""
    return cotangent if cotangent.shape == x.shape else ops.sum_to_size(cotangent, x.shape)


# Dimensions ----------------------------------------------------------------------------------------


def canonical_dim(dim: Any, ndim: int) -> int:
    """Return `dim` from 0 to ndim - 1. Raises IndexOutOfRange."""
    count = ndim or 1
    number = require_integer(dim, "a dimension")
    if not -count <= number < count:
        raise IndexOutOfRange(f"dimension {number} of a tensor with {ndim}; expected {-count} to {count - 1}")
    return number % count


def canonical_dims(dims: Any, ndim: int) -> tuple[int, ...]:
    """Return dimensions counted from the front. Raises if one repeats."""
    listed = dims if isinstance(dims, (tuple, list)) else (dims,)
    found = tuple(canonical_dim(dim, ndim) for dim in listed)
    if len(set(found)) < len(found):
        raise ShapeMismatch(f"a dimension appears twice in {tuple(listed)}")
    return found


# Dimensions that a reduction runs over -------------------------------------------------------------


def reduced_axes(dim: Any, ndim: int) -> tuple[int, ...]:
    """Return the dimensions of `dim`, sorted; all for None and ()."""
    if type(dim) is int and ndim:
        return (canonical_dim(dim, ndim),)
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        return tuple(range(ndim))
    found = canonical_dims(dim, ndim)
    return tuple(sorted(found)) if ndim else ()


def count_reduced(input: Any, dim: Any) -> int:
    """Return how many elements each element of a reduction comes from."""
    return prod(input.shape[axis] for axis in reduced_axes(dim, input.ndim))


def any_empty(input: Any, run: tuple[int, ...]) -> bool:
    """Return whether one of the dimensions `run` has size 0."""
    return 0 in [input.shape[axis] for axis in run]


def restore_reduced_dims(reduced: Any, input: Any, dim: Any, keepdim: bool) -> Any:
    """Restore reduced dimensions with size 1, to broadcast with `input`."""
    lost = reduced_axes(dim, input.ndim)
    if keepdim or len(lost) == input.ndim:  # a 0-d tensor broadcasts as it is
        return reduced
    for axis in lost:
        reduced = ops.unsqueeze(reduced, axis)
    return reduced
