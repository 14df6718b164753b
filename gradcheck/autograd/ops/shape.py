"""Ops that give the same elements another shape, or repeat them; they compute nothing."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from gradcheck.autograd.op import TABLE, composite, op
from gradcheck.autograd.ops.dims import canonical, canonical_all, integer
from gradcheck.errors import ShapeMismatch


def _sizes(sizes: Any) -> tuple[int, ...]:
    found = tuple(integer(size, "a size") for size in sizes)
    if any(size < -1 for size in found):
        raise ShapeMismatch(f"a size must be at least 0 (or -1 for what is left), not {list(found)}")
    return found


# Another shape for the same elements ---------------------------------------------------------------


def _to_shape_of(g: Any, y: Any, x: Any, *settings: Any) -> Any:
    return reshape(g, x.shape)


@op(
    _to_shape_of,
    variadic="shape",
    samples=(
        "reshape(randn(2, 3), (3, 2))",
        "randn(2, 3).reshape(6)",
        "randn(2, 3, 2).reshape(-1, 4)",
        "reshape(randn(()), [1, 1])",
        "reshape(randn(1), ())",
        "reshape(randn(0, 3), (3, 0))",
        "randn(2, 3).T.reshape(6)",
    ),
    analytic=True,
)
def reshape(input: Any, shape: Any) -> Any:
    """The same elements, in row-major order, in another shape; one size may be -1: whatever is left."""
    sizes = _sizes(shape)
    if -1 in sizes and 0 in sizes:
        raise ShapeMismatch(f"reshape: -1 could be any size in {list(sizes)}, since another size is 0")
    try:
        return np.reshape(input, sizes)
    except ValueError as error:
        raise ShapeMismatch(f"reshape: a tensor of shape {list(input.shape)} does not fit {list(sizes)}") from error


@composite(
    variadic="size",
    torch="Tensor.view",
    samples=("view(randn(2, 3), 3, 2)", "randn(2, 3).view(-1)", "randn(4).view([2, 2])"),
)
def view(input: Any, size: Any) -> Any:
    """`reshape`. (torch refuses where it would have to copy; here memory layout never matters.)"""
    return reshape(input, tuple(size))


@composite(torch="Tensor.view_as", samples=("view_as(randn(2, 3), randn(3, 2))",))
def view_as(input: Any, other: Any) -> Any:
    """`input` in the shape of `other`."""
    return reshape(input, other.shape)


@composite(torch="Tensor.reshape_as", samples=("reshape_as(randn(2, 3), randn(3, 2))",))
def reshape_as(input: Any, other: Any) -> Any:
    """`input` in the shape of `other`."""
    return reshape(input, other.shape)


@composite(
    samples=(
        "flatten(randn(2, 3, 2))",
        "flatten(randn(2, 3, 2), 1)",
        "flatten(randn(2, 3, 2), 0, -2)",
        "flatten(randn(()))",
        "flatten(randn(2, 0), start_dim=-1)",
    )
)
def flatten(input: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    """The dimensions from `start_dim` to `end_dim` as one."""
    first, last = canonical(start_dim, input.ndim), canonical(end_dim, input.ndim)
    if first > last:
        raise ShapeMismatch(f"flatten: start_dim {start_dim} comes after end_dim {end_dim}")
    shape = input.shape
    return reshape(input, (*shape[:first], prod(shape[first : last + 1]), *shape[last + 1 :]))


@composite(samples=("ravel(randn(2, 3))", "ravel(randn(()))"))
def ravel(input: Any) -> Any:
    """All elements in one dimension, in row-major order."""
    return reshape(input, (prod(input.shape),))


@composite(samples=("unflatten(randn(6, 2), 0, (2, 3))", "randn(2, 6).unflatten(-1, [3, -1])"))
def unflatten(input: Any, dim: int, sizes: Any) -> Any:
    """One dimension written as several, whose sizes multiply to its own; one may be -1."""
    where, shape, parts = canonical(dim, input.ndim), input.shape, _sizes(sizes)
    if parts.count(-1) == 1 and 0 not in parts:
        parts = tuple(shape[where] // -prod(parts) if size == -1 else size for size in parts)
    if prod(parts) != shape[where] or -1 in parts:
        raise ShapeMismatch(f"unflatten: {list(sizes)} do not multiply to {shape[where]}, the size of dimension {dim}")
    return reshape(input, (*shape[:where], *parts, *shape[where + 1 :]))


@op(
    _to_shape_of,
    samples=(
        "squeeze(randn(1, 3, 1))",
        "squeeze(randn(1, 3, 1), 0)",
        "squeeze(randn(1, 3, 1), -2)",
        "squeeze(randn(1, 3, 1), dim=(0, -1))",
        "squeeze(randn(()), 0)",
        "squeeze(randn(1, 0))",
    ),
    analytic=True,
)
def squeeze(input: Any, dim: Any = None) -> Any:
    """Without its dimensions of size 1, or without those of `dim` that are."""
    if dim is None:
        return np.squeeze(input)
    return np.squeeze(input, tuple(d for d in canonical_all(dim, input.ndim) if input.ndim and input.shape[d] == 1))


@op(
    lambda g, y, x, dim: squeeze(g, dim),
    samples=(
        "unsqueeze(randn(2, 3), 0)",
        "unsqueeze(randn(2, 3), -1)",
        "unsqueeze(randn(2), 1)",
        "unsqueeze(randn(()), -1)",
    ),
    analytic=True,
)
def unsqueeze(input: Any, dim: int) -> Any:
    """With a dimension of size 1 put in at `dim`."""
    return np.expand_dims(input, canonical(dim, input.ndim + 1))


def _atleast(input: Any, count: int, order: tuple[tuple[int | None, ...], ...]) -> Any:
    """`order[ndim]` says which dimension of `input` each new one is; None is one of size 1."""
    if input.ndim >= count:
        return input
    return reshape(input, tuple(1 if i is None else input.shape[i] for i in order[input.ndim]))


@composite(samples=("atleast_1d(randn(()))", "atleast_1d(randn(2, 3))"))
def atleast_1d(input: Any) -> Any:
    """At least one dimension, a new one of size 1."""
    return _atleast(input, 1, ((None,),))


@composite(samples=("atleast_2d(randn(()))", "atleast_2d(randn(3))", "atleast_2d(randn(2, 3))"))
def atleast_2d(input: Any) -> Any:
    """At least two dimensions; new ones, of size 1, come first."""
    return _atleast(input, 2, ((None, None), (None, 0)))


@composite(samples=("atleast_3d(randn(()))", "atleast_3d(randn(3))", "atleast_3d(randn(2, 3))"))
def atleast_3d(input: Any) -> Any:
    """At least three dimensions: `(n,)` becomes `(1, n, 1)`, and `(m, n)` becomes `(m, n, 1)`."""
    return _atleast(input, 3, ((None, None, None), (None, 0, None), (0, 1, None)))


# More of the same elements -------------------------------------------------------------------------


def _expanded(shape: tuple[int, ...], sizes: Any) -> tuple[int, ...]:
    wanted = _sizes(sizes)
    lead = len(wanted) - len(shape)
    if lead < 0 or -1 in wanted[:lead]:
        raise ShapeMismatch(f"expand: {list(wanted)} does not extend the shape {list(shape)}")
    found = (*wanted[:lead], *(old if new == -1 else new for new, old in zip(wanted[lead:], shape, strict=True)))
    if any(old not in (1, new) for new, old in zip(found[lead:], shape, strict=True)):
        raise ShapeMismatch(f"expand: the shape {list(shape)} cannot be expanded to {list(wanted)}")
    return found


def _fold(g: Any, y: Any, x: Any, size: Any) -> Any:
    return TABLE["sum_to_size"](g, x.shape)


@op(
    _fold,
    variadic="size",
    torch="Tensor.expand",
    elements=lambda input, size: prod(_expanded(input.shape, size)),
    samples=(
        "expand(randn(3), 2, 3)",
        "randn(2, 1).expand(2, 4)",
        "randn(2, 1).expand([4, -1, 3])",
        "randn(()).expand(2, 0)",
        "randn(1, 3).expand(0, 3)",
    ),
    analytic=True,
)
def expand(input: Any, size: Any) -> Any:
    """Repeated along dimensions of size 1, and along new leading ones, to `size`; -1 keeps a size."""
    return np.broadcast_to(input, _expanded(input.shape, size))


@composite(
    elements=lambda input, size: prod(_expanded(input.shape, size)),
    samples=("broadcast_to(randn(3), (2, 3))", "randn(2, 1).broadcast_to([4, 2, 3])"),
)
def broadcast_to(input: Any, size: Any) -> Any:
    """`expand` to `size`."""
    return expand(input, tuple(size))


@composite(torch="Tensor.expand_as", samples=("expand_as(randn(2, 1), randn(2, 3))",))
def expand_as(input: Any, other: Any) -> Any:
    """`expand` to the shape of `other`."""
    return expand(input, other.shape)


def _repeats(ndim: int, repeats: Any) -> tuple[int, ...]:
    counts = tuple(integer(count, "a number of repeats") for count in repeats)
    if len(counts) < ndim or any(count < 0 for count in counts):
        raise ShapeMismatch(f"repeat: {list(counts)} does not say how often to repeat each of {ndim} dimensions")
    return counts


def _repeat_rule(g: Any, y: Any, x: Any, repeats: Any) -> Any:
    """Add up the copies: `(a, b)` repeated `(p, q)` times is `(p, a, q, b)`, summed over p and q."""
    lead = len(repeats) - x.ndim
    sizes = [1] * lead + list(x.shape)
    split = [size for pair in zip(repeats, sizes, strict=True) for size in pair]
    folded = TABLE["sum"](reshape(g, tuple(split)), tuple(range(0, len(split), 2))) if split else g
    return reshape(folded, x.shape) if lead else folded


@op(
    _repeat_rule,
    variadic="repeats",
    torch="Tensor.repeat",
    elements=lambda input, repeats: prod(repeats) * prod(input.shape),
    samples=(
        "repeat(randn(2, 3), 2, 1)",
        "randn(3).repeat(4, 2)",
        "randn(2, 3).repeat([1, 2, 3])",
        "randn(()).repeat(3)",
        "randn(2, 3).repeat(0, 2)",
        "randn(()).repeat(())",
    ),
    analytic=True,
)
def repeat(input: Any, repeats: Any) -> Any:
    """The whole tensor, written `repeats` times along each dimension; extra counts make new leading dimensions."""
    return np.tile(input, _repeats(input.ndim, repeats))


@composite(
    variadic="dims",
    elements=lambda input, dims: prod(dims) * prod(input.shape),
    samples=("tile(randn(2, 3), (2,))", "randn(2, 3).tile(3, 1, 2)", "randn(2).tile(())"),
)
def tile(input: Any, dims: Any) -> Any:
    """`repeat`, with 1 for the leading counts that `dims` leaves out."""
    return repeat(input, (1,) * (input.ndim - len(dims)) + tuple(dims))
