"""Forwards that cannot be traced, or not well, specialized for arguments of certain shapes and dtypes.

An entry takes the arguments of an op, which the op has accepted before. It returns a function of the arrays among them,
or None for arguments that it does not know. For arrays of the same shapes and dtypes, that function returns what the
op's forward returns, bit for bit. The arrays are plain, of float32, float64, booleans or integers.

Entries are found by the forward itself, so an op whose forward was replaced has none.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from typing import Any

import numpy as np

from gradcheck.autograd.compiled.array_tracing import SMALL
from gradcheck.autograd.op import TABLE
from gradcheck.autograd.ops.common.dims import canonical_dim
from gradcheck.autograd.ops.common.subscript import is_basic, split_index

Function = Callable[..., Any]
#: By an op's forward, what specializes it.
SPECIALIZED: dict[Function, Callable[..., Function | None]] = {}


def _specializes(name: str) -> Callable[[Any], Any]:
    """Enter what specializes the forward of this op."""

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
    """Return what gives the flat places, in an array of this shape, that an index along `dim` names, or raises."""
    if index.dtype != np.int64 or len(shape) != index.ndim or not index.size:
        return None
    axis = canonical_dim(dim, len(shape))
    strides = [*accumulate(shape[:0:-1], lambda a, b: a * b, initial=1)][::-1]
    others = np.zeros(index.shape, np.int64)
    for d, coordinates in enumerate(np.ogrid[tuple(slice(n) for n in index.shape)]):
        if d != axis:
            others += coordinates * strides[d]
    step, size = strides[axis], shape[axis]

    def places(index: Any) -> Any:
        _check(index, size)
        return others + index * step

    return places


def _check(index: Any, size: int) -> None:
    """Raise IndexError unless all are from 0 to size - 1; the definition then has words for it."""
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
    if places is None or src.shape != index.shape or src.dtype != x.dtype:
        return None

    def add(x: Any, index: Any, src: Any) -> Any:
        out = x.copy()
        np.add.at(out.reshape(-1), places(index).reshape(-1), src.reshape(-1))
        return out

    return add


@_specializes("index_select")
def _(x: Any, dim: int, index: Any) -> Function | None:
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
    if index.dtype != np.int64 or index.ndim != 1 or not index.size or not x.ndim or source.dtype != x.dtype:
        return None
    axis = canonical_dim(dim, x.ndim)
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
