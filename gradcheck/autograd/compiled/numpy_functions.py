"""How NumPy's functions are recorded: each as the quickest call that gives the same bits.

An entry takes what the function takes, with traced arrays among the arguments. It is written with NumPy and with
methods of arrays, which are recorded in turn. A function without an entry cannot be traced: the op that calls it is
recorded as one call. Forwards of new ops that use another function of NumPy need an entry here to be fast.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from gradcheck.autograd.compiled.array_tracing import SMALL, TracedArray
from gradcheck.autograd.compiled.tracing import Traced, flat

#: By NumPy's function, what records it.
RECORDED: dict[Any, Callable[..., Any]] = {}


def _records(*functions: Any) -> Callable[[Any], Any]:
    """Enter what records these functions; it is given the function first."""

    def enter(record: Any) -> Any:
        for function in functions:
            RECORDED[function] = partial(record, function)
        return record

    return enter


def _is(function: Any) -> Callable[..., Any]:
    """Return what records a reduction as a method of a ufunc."""
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
    """The same elements in the same order."""
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


def beside_zero(mask: Any, chosen: Any, other: Any) -> Callable[..., Any] | None:
    """Return `np.where` of many floats and one number, for when that is zero; None where it is not quicker.

    It works on the bits of the floats, of which the mask selects all or none: a processor waits long for a branch that
    it has predicted wrong.
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
