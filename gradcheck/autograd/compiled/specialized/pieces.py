"""Tensors put together, picked from by indices or masks, and put back."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from operator import itemgetter
from typing import Any

import numpy as np

from gradcheck.autograd.compiled.specialized.entries import Function, prepares
from gradcheck.autograd.compiled.straight_line_code import SMALL
from gradcheck.autograd.ops.common.dims import canonical
from gradcheck.autograd.ops.common.subscript import is_basic, split


@prepares("cat")
def _(tensors: Any, dim: int) -> Function | None:
    axis = canonical(dim, tensors[0].ndim)
    if len({(x.ndim, x.dtype) for x in tensors}) > 1:
        return None
    return lambda *tensors: np.concatenate(tensors, axis)


@prepares("stack")
def _(tensors: Any, dim: int) -> Function | None:
    first = tensors[0]
    axis = canonical(dim, first.ndim + 1)
    shape = (*first.shape[:axis], 1, *first.shape[axis:])
    if len({x.dtype for x in tensors}) > 1:
        return None
    return lambda *tensors: np.concatenate([x.reshape(shape) for x in tensors], axis)


@prepares("getitem")
def _(x: Any, index: Any) -> Function | None:
    if is_basic(index):
        return itemgetter(index)
    if isinstance(index, list) and all(type(item) is int for item in index) and index:
        places = np.asarray(index)
        return lambda x: x.take(places, 0)
    if isinstance(index, np.ndarray) and index.dtype == np.int64 and index.ndim and x.ndim:
        return lambda x, places: x.take(places, 0)
    return None


@prepares("index_adjoint")
def _(x: Any, index: Any, size: Any) -> Function | None:
    dtype = x.dtype
    if is_basic(index):

        def put(x: Any) -> Any:
            out = np.zeros(size, dtype)
            out[index] = x
            return out

        return put
    if _dynamic(index):
        return None
    basic, advanced = split(index, len(size))
    numbers = np.arange(int(np.prod(size))).reshape(size)[basic]
    places = (numbers[advanced] if advanced else numbers).reshape(-1)

    def add(x: Any) -> Any:
        out = np.zeros(size, dtype)
        np.add.at(out.reshape(-1), places, x.reshape(-1))
        return out

    return add


def _dynamic(index: Any) -> bool:
    """Whether an index holds arrays, whose values differ from call to call."""
    return any(isinstance(item, np.ndarray) for item in (index if isinstance(index, tuple) else (index,)))


def _grid(shape: tuple[int, ...], strides: list[int], axis: int) -> np.ndarray:
    """For each place of an index along `axis` the flat place of all its other coordinates."""
    found = np.zeros(shape, np.int64)
    for d, step in enumerate(strides):
        if d != axis:
            found += (np.arange(shape[d]) * step).reshape([-1 if i == d else 1 for i in range(len(shape))])
    return found


def _flat(shape: tuple[int, ...], index: Any, dim: int) -> Callable[[Any], Any] | None:
    """The flat places, in an array of this shape, of what an index along `dim` names. Raises IndexError."""
    if index.dtype != np.int64 or len(shape) != index.ndim or not index.size:
        return None
    axis = canonical(dim, len(shape))
    steps = [*accumulate(shape[:0:-1], lambda a, b: a * b, initial=1)][::-1]
    rest, step, size = _grid(index.shape, steps, axis), steps[axis], shape[axis]

    def places(index: Any) -> Any:
        _check(index, size)
        return rest + index * step

    return places


def _check(index: Any, size: int) -> None:
    unsigned = index.view(np.uint64)  # negative ones are large
    if unsigned.item(unsigned.argmax()) >= size:
        raise IndexError


@prepares("gather")
def _(x: Any, dim: int, index: Any, sparse_grad: bool) -> Function | None:
    places = _flat(x.shape, index, dim)
    return None if places is None else lambda x, index: x.take(places(index))


@prepares("scatter_add")
def _(x: Any, dim: int, index: Any, src: Any) -> Function | None:
    places = _flat(x.shape, index, dim)
    if places is None or src.shape != index.shape or src.dtype != x.dtype:
        return None

    def add(x: Any, index: Any, src: Any) -> Any:
        out = x.copy()
        np.add.at(out.reshape(-1), places(index).reshape(-1), src.reshape(-1))
        return out

    return add


@prepares("index_select")
def _(x: Any, dim: int, index: Any) -> Function | None:
    if index.dtype != np.int64 or index.ndim != 1 or not index.size or not x.ndim:
        return None
    axis = canonical(dim, x.ndim)
    size = x.shape[axis]

    def select(x: Any, index: Any) -> Any:
        _check(index, size)
        return x.take(index, axis)

    return select


@prepares("index_add")
def _(x: Any, dim: int, index: Any, source: Any, alpha: Any) -> Function | None:
    if index.dtype != np.int64 or index.ndim != 1 or not index.size or not x.ndim or source.dtype != x.dtype:
        return None
    axis = canonical(dim, x.ndim)
    size = x.shape[axis]
    if type(alpha) is not int or alpha != 1 or source.shape != (*x.shape[:axis], index.size, *x.shape[axis + 1 :]):
        return None
    numbers = np.arange(x.size).reshape(x.shape)

    def add(x: Any, index: Any, source: Any) -> Any:
        _check(index, size)
        out = x.copy()
        np.add.at(out.reshape(-1), numbers.take(index, axis).reshape(-1), source.reshape(-1))
        return out

    return add


@prepares("where")
def _(condition: Any, input: Any, other: Any) -> Function | None:
    if not isinstance(condition, np.ndarray) or condition.dtype.kind != "b":
        return None
    return selection(condition, input, other) or np.where


def selection(mask: Any, chosen: Any, other: Any) -> Function | None:
    """`np.where` of a few numbers, by copying one side and writing the other over it, or of many beside zero; None
    where it is not quicker."""
    shape = np.shape(mask)
    if not np.size(mask) or getattr(chosen, "dtype", 0) != getattr(other, "dtype", 1):
        return None
    if np.size(mask) >= SMALL:
        return _beside_zero(mask, chosen, other)
    if other.shape == shape and chosen.shape in (shape, ()):

        def select(mask: Any, chosen: Any, other: Any) -> Any:
            out = other.copy("K")
            np.putmask(out, mask, chosen)
            return out

        return select
    if chosen.shape == shape and other.shape == ():

        def keep(mask: Any, chosen: Any, other: Any) -> Any:
            out = chosen.copy("K")
            np.putmask(out, ~mask, other)
            return out

        return keep
    return None


def _beside_zero(mask: Any, chosen: Any, other: Any) -> Function | None:
    """`np.where` of many floats and one number, for when that is zero: by their bits, of which the mask makes all or
    none, since a processor waits long for what it has guessed wrong."""
    if other.dtype.kind != "f" or sorted((chosen.shape, other.shape)) != [(), mask.shape]:
        return None
    dtype, bits, is_chosen = other.dtype, np.dtype(f"i{other.dtype.itemsize}"), chosen.shape == ()

    def select(mask: Any, chosen: Any, other: Any) -> Any:
        zero, numbers = (chosen, other) if is_chosen else (other, chosen)
        if zero.view(bits) or not (mask.flags.c_contiguous and numbers.flags.c_contiguous):
            return np.where(mask, chosen, other)
        out = np.empty(mask.shape, dtype)
        all_or_none = out.view(bits)
        np.copyto(all_or_none, mask)
        if is_chosen:
            np.subtract(all_or_none, 1, all_or_none)
        else:
            np.negative(all_or_none, all_or_none)
        np.bitwise_and(all_or_none, numbers.view(bits), all_or_none)
        return out

    return select
