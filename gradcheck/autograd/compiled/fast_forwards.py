"""Quicker forms of NumPy functions and forwards, equal bit for bit.

`RECORDED` has NumPy's functions: each is recorded as its quickest call. An entry takes the function's arguments, traced
arrays among them, and is written with NumPy and with methods of arrays, which are recorded in turn. An op whose forward
calls a function without an entry is recorded as one call.

`SPECIALIZED` has forwards that cannot be traced, or not well. An entry takes arguments that the op has accepted. It
returns a function of the plain arrays among them, of float32, float64, booleans or integers; or None for arguments that
it does not know. It is found by the forward itself, so an op whose forward was replaced has none.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any

import numpy as np

from gradcheck.autograd.compiled.array_tracing import SMALL, TracedArray
from gradcheck.autograd.compiled.tracing import Traced, flat
from gradcheck.autograd.op import TABLE
from gradcheck.autograd.ops.common.dims import canonical_dim
from gradcheck.autograd.ops.common.subscript import is_basic, split_index

Function = Callable[..., Any]
#: By NumPy's function, the function that records it.
RECORDED: dict[Any, Function] = {}
#: By an op's forward, the function that specializes it.
SPECIALIZED: dict[Function, Callable[..., Function | None]] = {}

# NumPy's functions -----------------------------------------------------------------------------------


def _records(*functions: Any) -> Callable[[Any], Any]:
    """Enter a function that records these; it is passed the one to record."""

    def enter(record: Any) -> Any:
        for function in functions:
            RECORDED[function] = partial(record, function)
        return record

    return enter


def _is(function: Any) -> Function:
    """Return a function that records a reduction as a method of a ufunc."""
    return lambda x, axis=None, **settings: function(x, axis=axis, **settings)


RECORDED |= {
    np.sum: _is(np.add.reduce),
    np.prod: _is(np.multiply.reduce),
    np.max: _is(np.maximum.reduce),
    np.min: _is(np.minimum.reduce),
    np.cumsum: _is(np.add.accumulate),
    np.cumprod: _is(np.multiply.accumulate),
}


@_records(np.shape, np.ndim, np.size, np.zeros_like, np.ones_like, np.full_like)
def _(function: Any, x: TracedArray, *rest: Any, **settings: Any) -> Any:
    """These depend on the shape and the dtype alone."""
    return function(x.data, *rest, **settings)


@_records(np.reshape, np.squeeze, np.expand_dims)
def _(function: Any, x: TracedArray, *rest: Any, **settings: Any) -> Any:
    """Record a reshape: the elements keep their order."""
    return x.reshape(function(x.data, *rest, **settings).shape)


@_records(np.transpose, np.swapaxes, np.moveaxis)
def _(function: Any, x: TracedArray, *rest: Any) -> Any:
    """Dimensions in another order, which dimensions of different sizes show."""
    sizes = tuple(range(2, x.ndim + 2))
    return x.transpose(tuple(size - 2 for size in function(np.broadcast_to(np.empty(()), sizes), *rest).shape))


@_records(np.flip)
def _(function: Any, x: TracedArray, axis: tuple[int, ...]) -> Any:
    return x[tuple(slice(None, None, -1) if place in axis else slice(None) for place in range(x.ndim))]


@_records(np.roll)
def _(function: Any, x: TracedArray, shift: Any, axis: Any = None) -> Any:
    if type(shift) is tuple and type(axis) is tuple and len(shift) == 1 and x.size:
        start = -shift[0] % x.shape[axis[0]]
        lead = (slice(None),) * axis[0]
        return np.concatenate((x[(*lead, slice(start, None))], x[(*lead, slice(None, start))]), axis[0])
    return x.trace.call(partial(function, shift=shift, axis=axis), (x,))


@_records(np.tril, np.triu)
def _(function: Any, x: TracedArray, k: int = 0) -> Any:
    return np.where(function(np.ones(x.shape, bool), k), x, np.zeros((), x.dtype))


@_records(np.diagonal)
def _(function: Any, x: TracedArray, *places: int) -> Any:
    return x.diagonal(*places)


@_records(np.concatenate)
def _(function: Any, parts: Any, axis: int) -> Any:
    return _trace_of(parts).call(function, (parts, axis))


@_records(np.stack)
def _(function: Any, parts: Any, axis: int) -> Any:
    shape = parts[0].shape
    return np.concatenate([x.reshape((*shape[:axis], 1, *shape[axis:])) for x in parts], axis)


@_records(np.where)
def _(function: Any, mask: Any, chosen: Any, other: Any) -> Any:
    args = mask, chosen, other
    plain = [arg.data if isinstance(arg, Traced) else arg for arg in args]
    return _trace_of(args).call(beside_zero(*plain) or function, args)


@_records(np.argmax, np.argmin)
def _(function: Any, x: TracedArray, **settings: Any) -> Any:
    return x.trace.call(partial(function, **settings), (x,))


@_records(np.tile, np.take_along_axis, np.einsum)
def _(function: Any, *args: Any, **settings: Any) -> Any:
    return _trace_of(args).call(partial(function, **settings) if settings else function, args)


def _trace_of(args: Any) -> Any:
    return next(arg for arg in flat(args) if isinstance(arg, Traced)).trace


def beside_zero(mask: Any, chosen: Any, other: Any) -> Function | None:
    """Return a quick `np.where` for a zero and many floats, or None.

    It selects by bits, all or none of each float: a processor waits long for a branch that it has predicted wrong.
    """
    if np.size(mask) < SMALL or getattr(chosen, "dtype", 0) != getattr(other, "dtype", 1) or other.dtype.kind != "f":
        return None
    if sorted((chosen.shape, other.shape)) != [(), mask.shape]:
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


# Forwards --------------------------------------------------------------------------------------------


def _specializes(name: str) -> Callable[[Any], Any]:
    """Enter a function that specializes the forward of this op."""

    def enter(specialize: Any) -> Any:
        SPECIALIZED[TABLE[name].forward] = specialize
        return specialize

    return enter


@_specializes("expand")
def _(x: Any, size: Any) -> Function | None:
    shape, dtype = np.broadcast_shapes(x.shape, TABLE["expand"].forward(x, size).shape), x.dtype
    if not 0 < np.prod(shape) < SMALL:
        return None

    def expand(x: Any) -> Any:
        out = np.empty(shape, dtype)
        out[...] = x
        return out

    return expand


# Indexing --------------------------------------------------------------------------------------------


@_specializes("getitem")
def _(x: Any, index: Any) -> Function | None:
    if isinstance(index, list) and index and all(type(item) is int for item in index):
        places = np.asarray(index)
        return lambda x: x.take(places, 0)
    if isinstance(index, np.ndarray) and index.dtype == np.int64 and index.ndim and x.ndim:
        return lambda x, places: x.take(places, 0)
    return None


@_specializes("index_adjoint")
def _(x: Any, index: Any, size: Any) -> Function | None:
    dtype = x.dtype
    if is_basic(index):

        def put(x: Any) -> Any:
            out = np.zeros(size, dtype)
            out[index] = x
            return out

        return put
    if any(isinstance(item, np.ndarray) for item in (index if isinstance(index, tuple) else (index,))):
        return None  # its values differ from call to call
    basic, advanced = split_index(index, len(size))
    numbers = np.arange(int(np.prod(size))).reshape(size)[basic]
    places = (numbers[advanced] if advanced else numbers).reshape(-1)

    def add(x: Any) -> Any:
        out = np.zeros(size, dtype)
        np.add.at(out.reshape(-1), places, x.reshape(-1))
        return out

    return add


# Collecting and spreading ----------------------------------------------------------------------------


def _flat_places(shape: tuple[int, ...], index: Any, dim: int) -> Function | None:
    """Return a function of the flat places for an index along `dim`; or None."""
    if index.dtype != np.int64 or len(shape) != index.ndim or not index.size:
        return None
    axis = canonical_dim(dim, len(shape))
    line = tuple(1 if d == axis else n for d, n in enumerate(index.shape))
    starts = np.arange(prod(shape)).reshape(shape)[tuple(map(slice, line))]
    if starts.shape != line:  # the index reaches beyond, which the forward says
        return None
    starts = starts.repeat(index.shape[axis], axis)
    step, size = prod(shape[axis + 1 :]), shape[axis]

    def places(index: Any) -> Any:
        _check(index, size)
        return starts + index * step

    return places


def _check(index: Any, size: int) -> None:
    """Raise IndexError unless all are from 0 to size - 1."""
    unsigned = index.view(np.uint64)  # negative ones are large
    if unsigned.item(unsigned.argmax()) >= size:
        raise IndexError


@_specializes("gather")
def _(x: Any, dim: int, index: Any, sparse_grad: bool) -> Function | None:
    places = _flat_places(x.shape, index, dim)
    return None if places is None else lambda x, index: x.take(places(index))


@_specializes("scatter_add")
def _(x: Any, dim: int, index: Any, src: Any) -> Function | None:
    places = _flat_places(x.shape, index, dim)
    return None if places is None or src.shape != index.shape or src.dtype != x.dtype else _adds_at(places)


def _adds_at(places: Function) -> Function:
    """Return a function that adds elements at the flat places for an index."""

    def add(x: Any, index: Any, src: Any) -> Any:
        out = x.copy()
        np.add.at(out.reshape(-1), places(index).reshape(-1), src.reshape(-1))
        return out

    return add


@_specializes("index_select")
def _selects(x: Any, dim: int, index: Any) -> Function | None:
    if index.dtype != np.int64 or index.ndim != 1 or not index.size or not x.ndim:
        return None
    axis = canonical_dim(dim, x.ndim)
    size = x.shape[axis]

    def select(x: Any, index: Any) -> Any:
        _check(index, size)
        return x.take(index, axis)

    return select


@_specializes("index_add")
def _(x: Any, dim: int, index: Any, source: Any, alpha: Any) -> Function | None:
    select, numbers = _selects(x, dim, index), np.arange(x.size).reshape(x.shape)
    if select is None or source.dtype != x.dtype or type(alpha) is not int or alpha != 1:
        return None
    return _adds_at(partial(select, numbers)) if source.shape == select(numbers, index).shape else None
