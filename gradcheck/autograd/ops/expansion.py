"""Repetition: `expand`, `repeat`, `tile`; and its adjoint `sum_to_size`."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from gradcheck.autograd import ops
from gradcheck.autograd.dtype_sets import INDICES
from gradcheck.autograd.op import composite, linear
from gradcheck.autograd.ops.common.arguments import sum_over
from gradcheck.autograd.ops.common.dims import as_partial_shape, canonical_dim, require_integer
from gradcheck.autograd.ops.shape_casts import ravel, reshape
from gradcheck.errors import ArgumentError, DtypeMismatch, ShapeMismatch


def _expanded_shape(shape: tuple[int, ...], sizes: Any) -> tuple[int, ...]:
    """Return the shape after `expand`. Raises ShapeMismatch."""
    wanted = as_partial_shape(sizes)
    lead = len(wanted) - len(shape)
    if lead < 0 or -1 in wanted[:lead]:
        raise ShapeMismatch(f"expand: {list(wanted)} does not extend the shape {list(shape)}")
    found = (*wanted[:lead], *(old if new == -1 else new for new, old in zip(wanted[lead:], shape, strict=True)))
    if any(old not in (1, new) for new, old in zip(found[lead:], shape, strict=True)):
        raise ShapeMismatch(f"expand: the shape {list(shape)} cannot be expanded to {list(wanted)}")
    return found


@linear(
    lambda g, y, x, size: ops.sum_to_size(g, x.shape),
    variadic="size",
    torch="Tensor.expand",
    elements=lambda input, size: prod(_expanded_shape(input.shape, size)),
    samples="""
        {}(randn(3), 2, 3); randn(2, 1).{}(2, 4); randn(2, 1).{}([4, -1, 3]); randn(()).{}(2, 0); randn(1, 3).{}(0, 3)
    """,
)
def expand(input: Any, size: Any) -> Any:
    """Dimensions of size 1 and new leading ones repeated; -1 keeps a size."""
    shape = _expanded_shape(input.shape, size)
    return _filled(input, shape) if prod(shape) < _SMALL else np.broadcast_to(input, shape)


#: Fewer elements are copied faster than a view is made.
_SMALL = 1024


def _filled(input: Any, shape: tuple[int, ...]) -> Any:
    out = np.empty_like(input, shape=shape)
    out[...] = input
    return out


@composite(
    elements=lambda input, size: prod(_expanded_shape(input.shape, size)),
    samples="broadcast_to(randn(3), (2, 3)); randn(2, 1).broadcast_to([4, 2, 3])",
)
def broadcast_to(input: Any, size: Any) -> Any:
    """`expand` to `size`."""
    return expand(input, tuple(size))


@composite(torch="Tensor.expand_as", samples="expand_as(randn(2, 1), randn(2, 3))")
def expand_as(input: Any, other: Any) -> Any:
    """`expand` to the shape of `other`."""
    return expand(input, other.shape)


@linear(
    lambda g, y, x, size: expand(g, x.shape),
    variadic="size",
    torch="Tensor.sum_to_size",
    samples="""
        randn(2, 3).{}(3); randn(2, 3).{}(2, 1); randn(4, 2, 3).{}((1, 3)); randn(2, 3).{}(()); randn(0, 3).{}(1, 3)
    """,
)
def sum_to_size(input: Any, size: Any) -> Any:
    """Sums over the dimensions along which `size` would be broadcast."""
    target = tuple(size)
    lead = input.ndim - len(target)
    if lead < 0 or any(new not in (1, old) for new, old in zip(target, input.shape[lead:], strict=True)):
        raise ShapeMismatch(f"sum_to_size: {list(target)} does not broadcast to {list(input.shape)}")
    axes = [i + lead for i, new in enumerate(target) if new == 1 and input.shape[i + lead] != 1]
    if input.dtype.kind == "b":
        raise DtypeMismatch("sum_to_size does not take booleans")
    return sum_over(input, (*range(lead), *axes), True).reshape(target)


def _repeats(ndim: int, repeats: Any) -> tuple[int, ...]:
    counts = tuple(require_integer(count, "a number of repeats") for count in repeats)
    if len(counts) < ndim or any(count < 0 for count in counts):
        raise ShapeMismatch(f"repeat: {list(counts)} does not say how often to repeat each of {ndim} dimensions")
    return counts


def _repeat_rule(g: Any, y: Any, x: Any, repeats: Any) -> Any:
    """Sum the copies: `(a, b)` repeated `(p, q)` times is `(p, a, q, b)`."""
    lead = len(repeats) - x.ndim
    sizes = [1] * lead + list(x.shape)
    split = [size for pair in zip(repeats, sizes, strict=True) for size in pair]
    folded = ops.sum(reshape(g, tuple(split)), tuple(range(0, len(split), 2))) if split else g
    return reshape(folded, x.shape) if lead else folded


@linear(
    _repeat_rule,
    variadic="repeats",
    torch="Tensor.repeat",
    elements=lambda input, repeats: prod(repeats) * prod(input.shape),
    samples="""
        {}(randn(2, 3), 2, 1); randn(3).{}(4, 2); randn(2, 3).{}([1, 2, 3]); randn(()).{}(3); randn(2, 3).{}(0, 2);
        randn(()).{}(())
    """,
)
def repeat(input: Any, repeats: Any) -> Any:
    """The tensor repeated along each dimension; extra counts lead."""
    return np.tile(input, _repeats(input.ndim, repeats))


@composite(
    variadic="dims",
    elements=lambda input, dims: prod(dims) * prod(input.shape),
    samples="tile(randn(2, 3), (2,)); randn(2, 3).tile(3, 1, 2); randn(2).tile(())",
)
def tile(input: Any, dims: Any) -> Any:
    """`repeat`, with 1 for the leading counts that `dims` leaves out."""
    return repeat(input, (1,) * (input.ndim - len(dims)) + tuple(dims))


@composite(
    elements=lambda input, repeats, dim, output_size: prod(input.shape) * _max_repeats(repeats),
    dtypes={"repeats": INDICES},
    samples="""
        {}(randn(2, 3), 2); {}(randn(2, 3), 3, dim=1); {}(randn(2, 3), tensor([0, 1, 2]), 1);
        {}(randn(3), tensor([2]), output_size=6)
    """,
)
def repeat_interleave(input: Any, repeats: Any, dim: int | None = None, *, output_size: int | None = None) -> Any:
    """Each element repeated along `dim` (or flattened), `repeats` times."""
    if dim is None:
        input, dim = ravel(input), 0
    if output_size is not None:
        require_integer(output_size, "the size")
    if hasattr(repeats, "dtype"):
        return _check_output_size(_repeat_by_index(input, repeats, dim), dim, output_size)
    count = require_integer(repeats, "repeats")
    if count < 0:
        raise ArgumentError(f"repeat_interleave: repeats must not be negative, but are {count}")
    after = canonical_dim(dim, input.ndim) + 1
    shape = input.shape
    copies = expand(reshape(input, (*shape[:after], 1, *shape[after:])), (*shape[:after], count, *shape[after:]))
    made = reshape(copies, (*shape[: after - 1], shape[after - 1] * count, *shape[after:]))
    return _check_output_size(made, dim, output_size)


def _check_output_size(made: Any, dim: int, size: int | None) -> Any:
    if size not in (None, made.shape[dim if made.ndim else 0]):
        raise ShapeMismatch(f"repeat_interleave: {list(made.shape)}, where {size} were announced")
    return made


def _max_repeats(repeats: Any) -> int:
    """Return the largest number of copies of any element."""
    return int(np.max(np.asarray(repeats), initial=0)) if hasattr(repeats, "dtype") else repeats


def _repeat_by_index(input: Any, repeats: Any, dim: int) -> Any:
    """Repeat each slice along `dim` by a count of its own, by indexing."""
    counts = np.asarray(repeats)
    where = canonical_dim(dim, input.ndim)
    size = input.shape[where] if input.ndim else 1
    if counts.dtype.kind not in "iu" or counts.ndim > 1 or (counts.size and counts.min() < 0):
        raise ArgumentError("repeat_interleave takes a tensor of integers from 0 up, of at most 1 dimension")
    if counts.size not in (1, size):
        raise ShapeMismatch(f"repeat_interleave: {counts.size} repeats for {size} elements along dimension {dim}")
    return ops.index_select(input, dim, np.repeat(np.arange(size), np.broadcast_to(counts.reshape(-1), (size,))))
