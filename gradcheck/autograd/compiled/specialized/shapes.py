"""The same elements in another shape or order, repeated, added up, or cut to a triangle."""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Any

import numpy as np

from gradcheck.autograd.compiled.specialized.entries import Function, is_float, prepares
from gradcheck.autograd.op import TABLE
from gradcheck.autograd.ops.common.dims import canonical, canonical_all, sizes_or_rest

_sum: Any = np.add.reduce


@prepares("reshape")
def _(x: Any, shape: Any) -> Function:
    sizes = sizes_or_rest(shape)
    return lambda x: x.reshape(sizes)


def _to_shape_of_result(name: str) -> Callable[..., Function]:
    """Of an op that gives the same elements in the same order."""
    forward = TABLE[name].forward

    def prepare(x: Any, *rest: Any) -> Function:
        shape = forward(x, *rest).shape
        return lambda x: x.reshape(shape)

    return prepare


prepares("squeeze")(_to_shape_of_result("squeeze"))
prepares("unsqueeze")(_to_shape_of_result("unsqueeze"))


def _filled(name: str) -> Callable[..., Function | None]:
    forward, fill = TABLE[name].forward, getattr(np, name.partition("_")[0])

    def prepare(x: Any, dtype: Any) -> Function:
        shape, target = x.shape, forward(x, dtype).dtype
        return lambda x: fill(shape, target)

    return prepare


prepares("zeros_like")(_filled("zeros_like"))
prepares("ones_like")(_filled("ones_like"))


@prepares("diagonal")
def _(x: Any, offset: int, dim1: int, dim2: int) -> Function | None:
    plane = canonical(dim1, x.ndim), canonical(dim2, x.ndim)
    return lambda x: x.diagonal(offset, *plane)


@prepares("diagonal_scatter")
def _(x: Any, src: Any, offset: int, dim1: int, dim2: int) -> Function | None:
    numbers = np.arange(x.size).reshape(x.shape)
    places = numbers.diagonal(offset, canonical(dim1, x.ndim), canonical(dim2, x.ndim)).copy()
    if places.shape != src.shape or src.dtype != x.dtype:
        return None

    def put(x: Any, src: Any) -> Any:
        out = x.copy()
        out.put(places, src)
        return out

    return put


@prepares("expand")
def _(x: Any, size: Any) -> Function | None:
    shape, dtype = np.broadcast_shapes(x.shape, TABLE["expand"].forward(x, size).shape), x.dtype
    if not 0 < np.prod(shape) < 1024:
        return None

    def filled(x: Any) -> Any:
        out = np.empty(shape, dtype)
        out[...] = x
        return out

    return filled


@prepares("sum_to_size")
def _(x: Any, size: Any) -> Function | None:
    target = tuple(size)
    lead = x.ndim - len(target)
    run = (*range(lead), *(i + lead for i, new in enumerate(target) if new == 1 and x.shape[i + lead] != 1))
    return (lambda x: _sum(x, run, None, None, True).reshape(target)) if is_float(x) else None


def _permuted(name: str) -> Callable[..., Function | None]:
    """Of an op that puts dimensions in another order; found by what it makes of dimensions of different sizes."""
    forward = TABLE[name].forward

    def prepare(x: Any, *rest: Any) -> Function | None:
        sizes = tuple(range(2, x.ndim + 2))
        order = tuple(size - 2 for size in forward(np.broadcast_to(np.empty(()), sizes), *rest).shape)
        return lambda x: x.transpose(order)

    return prepare


for _name in ("T", "mT", "transpose", "permute", "movedim"):
    prepares(_name)(_permuted(_name))


@prepares("flip")
def _(x: Any, dims: Any) -> Function | None:
    turned = canonical_all(dims, x.ndim)
    index = tuple(slice(None, None, -1) if axis in turned else slice(None) for axis in range(x.ndim))
    return itemgetter(index) if x.ndim else None


def _triangle(name: str) -> Callable[..., Function]:
    forward = TABLE[name].forward

    def prepare(x: Any, diagonal: int) -> Function:
        mask, zero = forward(np.ones(x.shape, bool), diagonal), np.zeros((), x.dtype)
        return lambda x: np.where(mask, x, zero)

    return prepare


prepares("tril")(_triangle("tril"))
prepares("triu")(_triangle("triu"))


@prepares("roll")
def _(x: Any, shifts: Any, dims: Any) -> Function | None:
    if type(shifts) is not int or type(dims) is not int or not x.size:
        return None
    axis = canonical(dims, x.ndim)
    start = -shifts % x.shape[axis]
    lead = (slice(None),) * axis
    last, first = (*lead, slice(start, None)), (*lead, slice(None, start))
    return lambda x: np.concatenate((x[last], x[first]), axis)
