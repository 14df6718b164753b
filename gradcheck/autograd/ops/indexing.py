"""Indexing `x[…]`, its adjoint, `index_put`, `narrow`, `select`, `take`."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from gradcheck.autograd import ops
from gradcheck.autograd.dtype_sets import INT64
from gradcheck.autograd.op import composite, linear
from gradcheck.autograd.ops.common.dims import broadcast_shape, canonical_dim, require_integer
from gradcheck.autograd.ops.common.subscript import add_at, is_basic, result_size, split_index
from gradcheck.autograd.ops.expansion import expand
from gradcheck.autograd.ops.shape_casts import ravel
from gradcheck.errors import ArgumentError, DtypeMismatch, IndexOutOfRange, ShapeMismatch

_ALL = slice(None)


@linear(
    lambda g, y, x, index: ops.index_adjoint(g, index, x.shape),
    torch="Tensor.__getitem__",
    method=False,
    elements=lambda input, index: result_size(input.shape, index),
    samples="""
        randn(3, 4)[1]; randn(3, 4)[-1, 2]; randn(3, 4)[:, 1:4:2]; randn(3, 4)[None, ..., 0];
        randn(2, 3, 4)[..., 1:, None]; randn(3, 4)[tensor([0, 2, 0])]; randn(3, 4)[[2, 0, 2]];
        randn(3, 4)[tensor([[0, 1], [1, 1]]), 1:]; randn(3, 4)[tensor([0, 2]), tensor([1, 1])];
        randn(2, 3, 4)[:, tensor([0, 2, 2]), None, tensor([1, 1, 3])];
        randn(2, 3, 4)[tensor([0, 1]), :, tensor([3, 3])]; randn(2, 3, 4)[0, :, tensor([1, 1, 2])];
        randn(3)[tensor([True, False, True])]; randn(2, 3)[tensor([[True, False, True], [False, False, True]])];
        randn(2, 3)[:, tensor([True, False, True])]; randn(2, 3)[True]; randn(0, 3)[:, 1]; randn(2, 3)[2:];
        randn(())[...]; randn(())[None]
    """,
)
def getitem(input: Any, index: Any) -> Any:
    """`input[index]`: integers, slices, None, `...`, indices and masks."""
    if is_basic(index):
        return input[index]
    basic, advanced = split_index(index, input.ndim)
    part = input[basic]
    return part[advanced] if advanced else part


@linear(
    lambda g, y, x, index, size: getitem(g, index),
    torch="",
    method=False,
    elements=lambda input, index, size: prod(size),
    samples="""
        {}(randn(2, 3), slice(1, 3), (4, 3)); {}(randn(3, 2), ([0, 2, 0], slice(None, None, 2)), (4, 3));
        {}(randn(2, 1, 2), (slice(0, 2), None, tensor([1, 1])), (2, 3));
        {}(randn(2), tensor([True, False, True]), (3,))
    """,
)
def index_adjoint(input: Any, index: Any, size: Any) -> Any:
    """Zeros of shape `size` plus `input` at `[index]`: indexing's adjoint."""
    out = np.zeros(size, dtype=input.dtype)
    if is_basic(index):
        out[index] = input
        return out
    basic, advanced = split_index(index, len(size))
    if advanced:
        add_at(out[basic], advanced, input)
    else:
        out[basic] = input
    return out


@linear(
    (
        lambda g, y, x, indices, v, accumulate: g if accumulate else ops.index_put(g, indices, ops.zeros_like(v)),
        None,
        lambda g, y, x, indices, v, accumulate: ops.sum_to_size(getitem(g, tuple(indices)), v.shape),
    ),
    samples="""
        {}(randn(3, 4), (tensor([0, 2]),), randn(2, 4)); {}(randn(3, 4), (tensor([0, 2]), tensor([1, 1])), randn(()));
        {}(randn(3, 4), (tensor([0, 2, 0]),), randn(4), accumulate=True);
        {}(randn(3), (tensor([True, False, True]),), randn(2))
    """,
    kinks="repeated indices, without accumulate",
)
def index_put(input: Any, indices: Any, values: Any, accumulate: bool = False) -> Any:
    """`input` with `values` written at, or added to, `[indices]`."""
    if values.dtype != input.dtype:
        raise DtypeMismatch(f"index_put: values of {values.dtype} for a tensor of {input.dtype}")
    if not indices or not all(hasattr(index, "dtype") for index in indices):
        raise ArgumentError("index_put takes index tensors, one a dimension", hint="(tensor([0, 2]), tensor([1, 1]))")
    basic, advanced = split_index(tuple(indices), input.ndim)
    out = input.copy()
    part = out[basic]
    if values.ndim > part[advanced].ndim:
        raise ShapeMismatch(f"index_put: values of shape {list(values.shape)} for {list(part[advanced].shape)}")
    if not advanced:  # single places alone, of which there is no view
        out[basic] = part + values if accumulate else values
    elif accumulate:
        add_at(part, advanced, np.broadcast_to(values, part[advanced].shape))
    else:
        part[advanced] = values
    return out


@composite(samples="select(randn(2, 3), 0, 1); randn(2, 3).select(-1, -3)")
def select(input: Any, dim: int, index: int) -> Any:
    """The slice at `index` of dimension `dim`, which goes."""
    where = canonical_dim(dim, input.ndim)
    return getitem(input, (*[_ALL] * where, require_integer(index, "an index")))


@composite(
    samples="narrow(randn(2, 5), 1, 1, 3); randn(4).narrow(0, -3, 2); narrow(randn(2, 5), dim=-1, start=5, length=0)"
)
def narrow(input: Any, dim: int, start: Any, length: int) -> Any:
    """The `length` slices from `start` on, along `dim`."""
    where = canonical_dim(dim, input.ndim)
    size = input.shape[where] if input.ndim else 0
    if hasattr(start, "ndim"):  # a tensor of one integer
        if start.dtype.kind not in "iu":
            raise DtypeMismatch(f"narrow takes an integer as the start, not {start.dtype}")
        start = require_integer(int(np.asarray(start)), "the start")
    if not -size <= start <= size:
        raise IndexOutOfRange(f"narrow: start {start} of a dimension of size {size}")
    first = start + size if start < 0 else start
    if length < 0 or first + length > size:
        raise IndexOutOfRange(f"narrow: {length} elements from {first} on, of a dimension of size {size}")
    return getitem(input, (*[_ALL] * where, slice(first, first + length)))


@composite(dtypes={"index": INT64}, samples="take(randn(2, 3), tensor([[0, -1], [2, 2]]))")
def take(input: Any, index: Any) -> Any:
    """Elements by place in row-major order, in the shape of `index`."""
    return getitem(ravel(input), index)


@composite(
    samples="""
        {}(randn(2, 3), tensor([[True, False, True], [False, True, True]]));
        {}(randn(2, 3), tensor([True, False, True])); {}(randn(3), tensor([[True], [False]]))
    """
)
def masked_select(input: Any, mask: Any) -> Any:
    """The elements where the broadcast `mask` is true, in one dimension."""
    if mask.dtype.kind != "b":
        raise DtypeMismatch(f"masked_select takes a mask of booleans, not of {mask.dtype}")
    shape = broadcast_shape("masked_select", input.shape, mask.shape)
    return getitem(_expanded(input, shape), (_expanded(mask, shape),))


def _expanded(value: Any, shape: tuple[int, ...]) -> Any:
    return value if value.shape == shape else expand(value, shape)
