"""Dimensions as torch counts them: negative ones from the end, and a 0-d tensor taken to have one."""

from __future__ import annotations

from collections.abc import Iterable
from operator import index as as_integer
from typing import Any

import numpy as np

from gradcheck.errors import ArgumentError, IndexOutOfRange, ShapeMismatch


def integer(value: Any, what: str) -> int:
    """`value` as an int; ArgumentError where it is none (a float, a bool, a list)."""
    if isinstance(value, bool):
        raise ArgumentError(f"{what} must be an integer, not {value}")
    try:
        return as_integer(value)
    except TypeError as error:
        raise ArgumentError(f"{what} must be an integer, not {value!r}") from error


def canonical(dim: Any, ndim: int) -> int:
    """`dim` counted from the front: from 0 to ndim - 1 (0 for ndim 0)."""
    count = ndim or 1
    number = integer(dim, "a dimension")
    if not -count <= number < count:
        raise IndexOutOfRange(f"dimension {number} of a tensor with {ndim}; expected {-count} to {count - 1}")
    return number % count


def broadcast_shape(name: str, *shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The common shape of operands of these shapes. Raises ShapeMismatch."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError as error:
        words = " and ".join(str(list(shape)) for shape in shapes)
        raise ShapeMismatch(f"{name}: shapes {words} cannot be broadcast together") from error


def canonical_all(dims: Any, ndim: int) -> tuple[int, ...]:
    """Each of `dims` (one, or several that must differ) counted from the front."""
    found = tuple(canonical(dim, ndim) for dim in (dims if isinstance(dims, Iterable) else (dims,)))
    if len(set(found)) < len(found):
        raise ShapeMismatch(f"a dimension appears twice in {tuple(dims)}")
    return found
