"""Casts and copies, `detach`; and other shapes: `reshape` and its kin."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from gradcheck.autograd import ops
from gradcheck.autograd.dtypes import ALIASES, BY_NAME, named
from gradcheck.autograd.op import composite, linear, op
from gradcheck.autograd.ops.common.arguments import cast_array
from gradcheck.autograd.ops.common.dims import as_partial_shape, canonical_dim, canonical_dims
from gradcheck.errors import ShapeMismatch


@op(
    lambda g, y, x, dtype: g,
    rounds=True,
    holomorphic=False,
    torch="Tensor.to",
    samples="""
        randn(2, 3).to(torch.float32); randn(2, 3).to(torch.complex128); to(randn(3) * 5, torch.int64);
        randn(3).to(torch.bool); tensor([1, 0]).to(torch.float16)
    """,
)
def to(input: Any, dtype: Any) -> Any:
    """The values in this dtype, or in another tensor's."""
    return cast_array(input, named(getattr(dtype, "dtype", dtype), input.dtype))


def _cast(name: str, dtype: str) -> None:
    samples = "randn(2, 3).{}(); tensor([1, 0]).{}()"
    cast = composite(name=name, doc=f"The values as {dtype}.", torch=f"Tensor.{name}", samples=samples)
    cast(lambda input: to(input, BY_NAME[dtype]))


for _name, _dtype in {**ALIASES, "bool": "bool", "bfloat16": "bfloat16"}.items():
    _cast(_name, _dtype)


@composite(name="type", torch="Tensor.type", samples="randn(2, 3).type(torch.float32)")
def type_(input: Any, dtype: Any) -> Any:
    """`to`."""
    return to(input, dtype)


@composite(torch="Tensor.type_as", samples="randn(2, 3).type_as(tensor([1, 2]))")
def type_as(input: Any, other: Any) -> Any:
    """The values in the dtype of `other`."""
    return to(input, other.dtype)


@op(samples="detach(randn(2, 3)); randn(3) * randn(3).detach()")
def detach(input: Any) -> Any:
    """`input` without a gradient."""
    return input


@linear(lambda g, y, x: g, rounds=True, samples="clone(randn(2, 3))")
def clone(input: Any) -> Any:
    """A copy."""
    return input.copy()


@linear(lambda g, y, x: g, rounds=True, torch="Tensor.contiguous", samples="randn(2, 3).contiguous()")
def contiguous(input: Any) -> Any:
    """`input` itself; memory layout does not matter here."""
    return np.asarray(input, order="C")


# In another shape ----------------------------------------------------------------------------------


@linear(
    lambda g, y, x, shape: ops.reshape(g, x.shape),
    variadic="shape",
    samples="""
        {}(randn(2, 3), (3, 2)); randn(2, 3).{}(6); randn(2, 3, 2).{}(-1, 4); {}(randn(()), [1, 1]); {}(randn(1), ());
        {}(randn(0, 3), (3, 0)); randn(2, 3).T.reshape(6)
    """,
)
def reshape(input: Any, shape: Any) -> Any:
    """The elements in row-major order in another shape; -1 is inferred."""
    sizes = as_partial_shape(shape)
    if -1 in sizes and 0 in sizes:
        raise ShapeMismatch(f"reshape: -1 could be any size in {list(sizes)}, since another size is 0")
    try:
        return np.reshape(input, sizes)
    except ValueError as error:
        raise ShapeMismatch(f"reshape: a tensor of shape {list(input.shape)} does not fit {list(sizes)}") from error


@composite(
    variadic="size",
    torch="Tensor.view",
    samples="view(randn(2, 3), 3, 2); randn(2, 3).view(-1); randn(4).view([2, 2])",
)
def view(input: Any, size: Any) -> Any:
    """`reshape`; unlike torch's it copies where the layout requires it."""
    return reshape(input, tuple(size))


@composite(torch="Tensor.view_as", samples="view_as(randn(2, 3), randn(3, 2))")
def view_as(input: Any, other: Any) -> Any:
    """`input` in the shape of `other`."""
    return reshape(input, other.shape)


@composite(torch="Tensor.reshape_as", samples="reshape_as(randn(2, 3), randn(3, 2))")
def reshape_as(input: Any, other: Any) -> Any:
    """`input` in the shape of `other`."""
    return reshape(input, other.shape)


@composite(
    samples="""
        {}(randn(2, 3, 2)); {}(randn(2, 3, 2), 1); {}(randn(2, 3, 2), 0, -2); {}(randn(()));
        {}(randn(2, 0), start_dim=-1)
    """
)
def flatten(input: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    """The dimensions from `start_dim` to `end_dim` as one."""
    first, last = canonical_dim(start_dim, input.ndim), canonical_dim(end_dim, input.ndim)
    if first > last:
        raise ShapeMismatch(f"flatten: start_dim {start_dim} comes after end_dim {end_dim}")
    shape = input.shape
    return reshape(input, (*shape[:first], prod(shape[first : last + 1]), *shape[last + 1 :]))


@composite(samples="ravel(randn(2, 3)); ravel(randn(()))")
def ravel(input: Any) -> Any:
    """All elements in one dimension, in row-major order."""
    return reshape(input, (prod(input.shape),))


@composite(samples="unflatten(randn(6, 2), 0, (2, 3)); randn(2, 6).unflatten(-1, [3, -1])")
def unflatten(input: Any, dim: int, sizes: Any) -> Any:
    """One dimension as several, whose sizes multiply to it; one may be -1."""
    where, shape, parts = canonical_dim(dim, input.ndim), input.shape, as_partial_shape(sizes)
    if parts.count(-1) == 1 and 0 not in parts:
        parts = tuple(shape[where] // -prod(parts) if size == -1 else size for size in parts)
    if prod(parts) != shape[where] or -1 in parts:
        raise ShapeMismatch(f"unflatten: {list(sizes)} do not multiply to {shape[where]}, the size of dimension {dim}")
    return reshape(input, (*shape[:where], *parts, *shape[where + 1 :]))


@linear(
    lambda g, y, x, dim: reshape(g, x.shape),
    samples="""
        {}(randn(1, 3, 1)); {}(randn(1, 3, 1), 0); {}(randn(1, 3, 1), -2); {}(randn(1, 3, 1), dim=(0, -1));
        {}(randn(()), 0); {}(randn(1, 0))
    """,
)
def squeeze(input: Any, dim: Any = None) -> Any:
    """Without its dimensions of size 1, or without those of `dim` that are."""
    if dim is None:
        return np.squeeze(input)
    return np.squeeze(input, tuple(d for d in canonical_dims(dim, input.ndim) if input.ndim and input.shape[d] == 1))


@linear(
    lambda g, y, x, dim: squeeze(g, dim),
    samples="unsqueeze(randn(2, 3), 0); unsqueeze(randn(2, 3), -1); unsqueeze(randn(2), 1); unsqueeze(randn(()), -1)",
)
def unsqueeze(input: Any, dim: int) -> Any:
    """With a dimension of size 1 put in at `dim`."""
    return np.expand_dims(input, canonical_dim(dim, input.ndim + 1))


def _atleast(input: Any, count: int, order: tuple[tuple[int | None, ...], ...]) -> Any:
    """Reshape by `order[ndim]`, the old dimension of each new one, or None."""
    if isinstance(input, (tuple, list)):
        return tuple(_atleast(one, count, order) for one in input)
    if input.ndim >= count:
        return input
    return reshape(input, tuple(1 if i is None else input.shape[i] for i in order[input.ndim]))


@composite(samples="atleast_1d(randn(())); atleast_1d(randn(2, 3)); atleast_1d([randn(()), randn(2)])")
def atleast_1d(input: Any) -> Any:
    """At least one dimension, a new one of size 1."""
    return _atleast(input, 1, ((None,),))


@composite(samples="atleast_2d(randn(())); atleast_2d(randn(3)); atleast_2d(randn(2, 3))")
def atleast_2d(input: Any) -> Any:
    """At least two dimensions; new ones, of size 1, come first."""
    return _atleast(input, 2, ((None, None), (None, 0)))


@composite(samples="atleast_3d(randn(())); atleast_3d(randn(3)); atleast_3d(randn(2, 3))")
def atleast_3d(input: Any) -> Any:
    """At least 3 dimensions: `(n,)` to `(1, n, 1)`, `(m, n)` to `(m, n, 1)`."""
    return _atleast(input, 3, ((None, None, None), (None, 0, None), (0, 1, None)))
