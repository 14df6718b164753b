"""Gather elements along a dimension by an index; and scatter them."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from gradcheck.autograd import ops
from gradcheck.autograd.dtype_sets import INDICES, INT64
from gradcheck.autograd.op import composite, linear
from gradcheck.autograd.ops.common.dims import broadcast_shape, canonical_dim
from gradcheck.autograd.ops.expansion import expand
from gradcheck.autograd.ops.indexing import index_adjoint
from gradcheck.autograd.ops.shape_casts import ravel
from gradcheck.errors import DtypeMismatch, IndexOutOfRange, ShapeMismatch


def _checked_index(index: Any, size: int, name: str) -> np.ndarray:
    """Return checked indices. Raises DtypeMismatch, IndexOutOfRange."""
    array = np.asarray(index)
    if array.dtype not in (np.int64, np.int32):
        raise DtypeMismatch(f"{name} takes int64 or int32 as index, not {array.dtype}")
    if array.size and (array.min() < 0 or array.max() >= size):
        found = int(array.min() if array.min() < 0 else array.max())
        raise IndexOutOfRange(f"{name}: index {found} of a dimension of size {size}")
    return array


def _require_fits(inner: tuple[int, ...], outer: tuple[int, ...], dim: int | None, name: str) -> None:
    """Raise ShapeMismatch if `inner` exceeds `outer`, except along `dim`."""
    same_count = len(inner) == len(outer)
    if not same_count or any(a > b and d != dim for d, (a, b) in enumerate(zip(inner, outer, strict=True))):
        apart = "" if dim is None else f", apart from dimension {dim}"
        raise ShapeMismatch(f"{name}: an index of shape {list(inner)} does not fit into {list(outer)}{apart}")


def _full_index(dim: int, index: np.ndarray) -> tuple[Any, ...]:
    """Return the full index of the elements that `index` names on `dim`."""
    grid = list(np.ogrid[tuple(slice(size) for size in index.shape)])
    grid[dim] = index
    return tuple(grid)


def _gather_rule(g: Any, y: Any, x: Any, dim: int, index: Any, sparse_grad: bool) -> Any:
    if not np.size(index):
        return ops.zeros_like(x)
    if x.ndim == np.ndim(index):
        return ops.scatter_add(ops.zeros_like(x), dim, index, g)
    line, places = (x, ops.reshape(index, (1,))) if x.ndim else (ops.reshape(x, (1,)), index)
    spread = ops.scatter_add(ops.zeros_like(line), 0, places, ops.reshape(g, tuple(places.shape)))
    return ops.reshape(spread, x.shape)


@linear(
    _gather_rule,
    samples="""
        {}(randn(3, 4), 0, tensor([[0, 2, 1, 0], [2, 2, 0, 1]])); randn(3, 4).{}(-1, tensor([[0, 0], [3, 1]]));
        {}(randn(()), 0, tensor(0)); {}(randn(3), 0, tensor([2, 2, 2, 0]))
    """,
)
def gather(input: Any, dim: int, index: Any, *, sparse_grad: bool = False) -> Any:
    """`out[i, j] = input[index[i, j], j]` for `dim` 0; likewise for others."""
    where = canonical_dim(dim, input.ndim)
    if not index.size and (input.ndim or index.ndim):  # torch does not check an empty index
        return np.zeros(index.shape, input.dtype)
    if not input.ndim:
        _require_fits(np.atleast_1d(_checked_index(index, 1, "gather")).shape, (1,), 0, "gather")
        return np.broadcast_to(input, index.shape).copy()
    if not index.ndim:
        index = np.atleast_1d(index)
        _require_fits(index.shape, input.shape, where, "gather")
        return input[_checked_index(index, input.shape[where], "gather")][0]
    _require_fits(index.shape, input.shape, where, "gather")
    return input[_full_index(where, _checked_index(index, input.shape[where], "gather"))]


def _scatter_source_rule(g: Any, y: Any, x: Any, dim: int, index: Any, src: Any) -> Any:
    """Gather back; zeros for elements of `src` beyond the index."""
    back = gather(g, dim, index)
    if src.shape == back.shape:
        return back
    return index_adjoint(back, tuple(slice(0, size) for size in back.shape), src.shape)


@linear(
    (lambda g, y, x, dim, index, src: g, None, None, _scatter_source_rule),
    dtypes={"index": INDICES},
    samples="""
        {}(randn(3, 4), 0, tensor([[0, 2, 1, 0], [2, 2, 0, 0]]), randn(2, 4));
        randn(3, 4).{}(1, tensor([[0, 0, 3], [1, 1, 1], [2, 0, 2]]), randn(3, 3));
        {}(randn(3), 0, tensor([1, 1, 1, 0]), randn(4))
    """,
)
def scatter_add(input: Any, dim: int, index: Any, src: Any) -> Any:
    """`input` plus `src[i, j]` at `[index[i, j], j]`, for `dim` 0."""
    out, places, part = _prepared(input, dim, index, src, "scatter_add")
    if places is None:
        return out + src if index.size else out
    if out.ndim == 1:
        np.add.at(out, places[0], part)
    else:
        flat = np.ravel_multi_index(np.broadcast_arrays(*places), out.shape) if index.size else np.zeros(0, np.int64)
        np.add.at(out.reshape(-1), flat.reshape(-1), part.reshape(-1))
    return out


@linear(
    (lambda g, y, x, dim, index, src: ops.scatter(g, dim, index, 0), None, None, _scatter_source_rule),
    dtypes={"index": INDICES},
    samples="""
        {}(randn(3, 4), 0, tensor([[0, 2, 1, 0], [2, 1, 0, 1]]), randn(2, 4));
        randn(3, 4).{}(1, tensor([[0, 3], [1, 2]]), 2.5); {}(randn(3, 4), 1, tensor([[0], [3]]), randn(3, 4)[:2, :1])
    """,
    kinks="repeated indices",
)
def scatter(input: Any, dim: int, index: Any, src: Any) -> Any:
    """`input` with `src[i, j]`, or a number, at `[index[i, j], j]`."""
    out, places, part = _prepared(input, dim, index, src, "scatter")
    if places is None:
        return np.asarray(src, dtype=out.dtype) if index.size else out
    out[places] = part
    return out


def _prepared(input: Any, dim: int, index: Any, src: Any, name: str) -> tuple[np.ndarray, Any, Any]:
    """Return a copy of `input`, its written places (None if 0-d), values."""
    where = canonical_dim(dim, input.ndim)
    part = src
    if isinstance(src, np.ndarray):
        if src.dtype != input.dtype:
            raise DtypeMismatch(f"{name}: a source of {src.dtype} for a tensor of {input.dtype}")
        _require_fits(index.shape, src.shape, None, name)
        part = src[tuple(slice(size) for size in index.shape)]
    _require_fits(index.shape, input.shape, where, name)
    checked = _checked_index(index, input.shape[where] if input.ndim else 1, name)
    return np.array(input), _full_index(where, checked) if input.ndim else None, part


def _shape_without(shape: tuple[int, ...], dim: int) -> tuple[int, ...]:
    """Return the shape with size 1 along `dim`."""
    return (*shape[:dim], 1, *shape[dim + 1 :]) if shape else ()


@linear(
    lambda g, y, x, dim, index: ops.index_add(ops.zeros_like(x), dim, index, g),
    elements=lambda input, dim, index: prod(_shape_without(input.shape, canonical_dim(dim, input.ndim))) * index.size,
    dtypes={"index": INDICES},
    samples="{}(randn(3, 4), 0, tensor([0, 2, 0])); randn(3, 4).{}(-1, tensor([1])); {}(randn(3, 4), 0, tensor(1))",
)
def index_select(input: Any, dim: int, index: Any) -> Any:
    """The slices along `dim` that the 1-d `index` names, in its order."""
    where, picked = _vector(input, dim, index, "index_select")
    return np.take(input, picked, axis=where) if input.ndim else input


def _vector(input: Any, dim: int, index: Any, name: str) -> tuple[int, np.ndarray]:
    where = canonical_dim(dim, input.ndim)
    if np.ndim(index) > 1:
        raise IndexOutOfRange(f"{name} takes a 1-d index, not {np.ndim(index)} dimensions")
    return where, np.atleast_1d(_checked_index(index, input.shape[where] if input.ndim else 1, name))


def _index_add_source(g: Any, y: Any, x: Any, dim: int, index: Any, source: Any, alpha: Any) -> Any:
    back = index_select(g, dim, index) if x.ndim else ops.reshape(g, source.shape)
    return back if alpha == 1 else back * alpha


@linear(
    (lambda g, y, x, dim, index, source, alpha: g, None, None, _index_add_source),
    dtypes={"index": INDICES},
    samples="""
        {}(randn(3, 4), 0, tensor([0, 2, 0]), randn(3, 4)); randn(3, 4).{}(-1, tensor([1]), randn(3, 1), alpha=2)
    """,
)
def index_add(input: Any, dim: int, index: Any, source: Any, *, alpha: Any = 1) -> Any:
    """`input` plus `alpha * source` at the slices that the index names."""
    where, picked = _vector(input, dim, index, "index_add")
    if source.dtype != input.dtype:
        raise DtypeMismatch(f"index_add: a source of {source.dtype} for a tensor of {input.dtype}")
    expected = (*input.shape[:where], picked.size, *input.shape[where + 1 :]) if input.ndim else ()
    if source.shape != expected and (input.ndim or source.shape != (1,)):
        raise ShapeMismatch(f"index_add: a source of shape {list(source.shape)}, where {list(expected)} is expected")
    out = np.array(input)
    if not input.ndim:
        return np.asarray(out + np.sum(source) * alpha, out.dtype)
    np.add.at(np.moveaxis(out, where, 0), picked, np.moveaxis(source if alpha == 1 else source * alpha, where, 0))
    return out


@composite(
    dtypes={"indices": INT64},
    samples="""
        {}(randn(3, 4), tensor([[0], [2], [1]]), 1); {}(randn(3, 4), tensor([[0, 2, 1, 1]]), dim=0);
        {}(randn(2, 3), tensor([5, 0, 5]))
    """,
)
def take_along_dim(input: Any, indices: Any, dim: int | None = None) -> Any:
    """`gather`, broadcast in all dimensions but `dim`; flattened without."""
    if dim is None:
        return gather(ravel(input), 0, ravel(indices))
    if indices.ndim != input.ndim:
        raise ShapeMismatch(f"take_along_dim: indices with {indices.ndim} dimensions for a tensor with {input.ndim}")
    where = canonical_dim(dim, input.ndim)
    common = list(
        broadcast_shape("take_along_dim", _shape_without(input.shape, where), _shape_without(indices.shape, where))
    )
    sizes = [(*common[:where], v.shape[where], *common[where + 1 :]) for v in (input, indices)]
    wrapped = ops.remainder(indices, max(input.shape[where], 1)) if input.ndim else indices  # as torch does, here
    return gather(expand(input, sizes[0]), where, expand(wrapped, sizes[1]))
