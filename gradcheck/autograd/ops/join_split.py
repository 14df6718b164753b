"""Join tensors by `cat` and `stack`; split them by `split` and `unbind`."""

from __future__ import annotations

from itertools import accumulate, pairwise
from math import prod
from typing import Any

import numpy as np

from gradcheck.autograd import ops
from gradcheck.autograd.dtype_sets import INT64
from gradcheck.autograd.op import composite, linear
from gradcheck.autograd.ops.common.dims import canonical_dim, require_integer
from gradcheck.autograd.ops.indexing import narrow, select
from gradcheck.autograd.ops.shape_casts import atleast_1d, atleast_2d, atleast_3d, reshape
from gradcheck.autograd.promotion import result_dtype
from gradcheck.errors import ArgumentError, DtypeMismatch, IndexOutOfRange, ShapeMismatch


def _takes_part(tensor: Any, ndim: int) -> bool:
    """Return whether `cat` uses a tensor: torch skips those of shape (0,)."""
    return tensor.ndim == ndim or tuple(tensor.shape) != (0,)


def _cat_rule(g: Any, y: Any, tensors: Any, dim: int) -> list[Any]:
    where, start = canonical_dim(dim, y.ndim), 0
    shares = []
    for tensor in tensors:
        if not _takes_part(tensor, y.ndim):
            shares.append(ops.zeros_like(tensor))
            continue
        shares.append(narrow(g, where, start, tensor.shape[where]))
        start += tensor.shape[where]
    return shares


@linear(
    _cat_rule,
    sequence=0,
    aliases=("concat", "concatenate"),
    method=False,
    samples="""
        cat([randn(2, 3), randn(1, 3)]); cat((randn(2, 3), randn(2, 1), randn(2, 0)), dim=1);
        cat([randn(2, 3), randn(2, 2)], -1); concat([randn(3)]); cat([randn(0), randn(2, 3)])
    """,
)
def cat(tensors: Any, dim: int = 0) -> Any:
    """Tensors joined along `dim`; their other sizes are equal."""
    if not tensors:
        raise ArgumentError("cat takes at least one tensor")
    if any(tensor.ndim == 0 for tensor in tensors):
        raise ShapeMismatch("cat takes tensors with at least 1 dimension", hint="stack takes 0-d tensors")
    ndim = max(tensor.ndim for tensor in tensors)
    parts = [tensor for tensor in tensors if _takes_part(tensor, ndim)]
    try:
        joined = np.concatenate(parts, canonical_dim(dim, ndim))
    except ValueError as error:
        shapes = " and ".join(str(list(tensor.shape)) for tensor in parts[:8])
        raise ShapeMismatch(f"cat: shapes {shapes} differ, apart from dimension {dim}") from error
    return joined.astype(result_dtype(tensors), copy=False)


@linear(
    lambda g, y, tensors, dim: [select(g, dim, i) for i in range(len(tensors))],
    sequence=0,
    method=False,
    samples="""
        stack([randn(2, 3), randn(2, 3)]); stack((randn(2, 3), randn(2, 3)), dim=1);
        stack([randn(2), randn(2), randn(2)], -1); stack([randn(()), randn(())]); stack([randn(0, 2), randn(0, 2)], 2)
    """,
)
def stack(tensors: Any, dim: int = 0) -> Any:
    """Tensors of one shape along a new dimension."""
    if not tensors:
        raise ArgumentError("stack takes at least one tensor")
    shapes = dict.fromkeys(tuple(tensor.shape) for tensor in tensors)
    if len(shapes) > 1:
        raise ShapeMismatch(f"stack takes tensors of one shape, not {' and '.join(str(list(s)) for s in shapes)}")
    return np.stack(tensors, canonical_dim(dim, tensors[0].ndim + 1)).astype(result_dtype(tensors), copy=False)


@composite(method=False, samples="hstack([randn(2, 3), randn(2, 1)]); hstack([randn(2), randn(())])")
def hstack(tensors: Any) -> Any:
    """The tensors side by side: along dimension 1, or 0 for vectors."""
    parts = [atleast_1d(tensor) for tensor in tensors]
    return cat(parts, 0 if parts and parts[0].ndim == 1 else 1)


@composite(aliases=("row_stack",), method=False, samples="vstack([randn(2, 3), randn(3)])")
def vstack(tensors: Any) -> Any:
    """The tensors on top of each other; a vector is one row."""
    return cat([atleast_2d(tensor) for tensor in tensors], 0)


@composite(method=False, samples="dstack([randn(2, 3), randn(2, 3)]); dstack([randn(2), randn(2)])")
def dstack(tensors: Any) -> Any:
    """The tensors behind each other, along dimension 2."""
    return cat([atleast_3d(tensor) for tensor in tensors], 2)


@composite(method=False, samples="column_stack([randn(2), randn(2, 3), randn(2)])")
def column_stack(tensors: Any) -> Any:
    """The tensors side by side; a vector is one column."""
    columns = [t if t.ndim > 1 else reshape(t, (t.shape[0] if t.ndim else 1, 1)) for t in tensors]
    return cat(columns, 1)


def _pieces(tensor: Any, dim: int, lengths: Any) -> tuple[Any, ...]:
    starts = accumulate(lengths, initial=0)
    return tuple(narrow(tensor, dim, start, length) for start, length in zip(starts, lengths, strict=False))


def _dimension(tensor: Any, dim: int, name: str) -> tuple[int, int]:
    """Return `dim` counted from the front, and its size."""
    if not tensor.ndim:
        raise ShapeMismatch(f"{name} takes at least 1 dimension, not 0")
    where = canonical_dim(dim, tensor.ndim)
    return where, tensor.shape[where]


#: A piece takes as much memory as so many numbers.
_PIECE = 30


def _elements(input: Any, count: Any, dim: int = 0) -> int:
    """Count elements and pieces: an empty tensor can have many pieces."""
    if getattr(count, "shape", None) == ():
        count = int(np.asarray(ops.detach(count)))
    return int(prod(input.shape)) + _PIECE * (count if isinstance(count, int) else len(count) + 1)


def _split_elements(tensor: Any, split_size_or_sections: Any, dim: int = 0) -> int:
    if isinstance(split_size_or_sections, (tuple, list)):
        return _elements(tensor, split_size_or_sections)
    return _elements(tensor, -(-_dimension(tensor, dim, "split")[1] // max(split_size_or_sections, 1)))


@composite(
    elements=_split_elements,
    samples="""
        split(randn(5, 2), 2); split(randn(2, 5), [1, 4], dim=1); randn(2, 5).split(3, -1); split(randn(0, 2), 2);
        split(randn(5), (0, 5))
    """,
)
def split(tensor: Any, split_size_or_sections: Any, dim: int = 0) -> Any:
    """Pieces along `dim`, of one size or of the sizes listed."""
    where, size = _dimension(tensor, dim, "split")
    if isinstance(split_size_or_sections, (tuple, list)):
        lengths = [require_integer(length, "a size") for length in split_size_or_sections]
        if sum(lengths) != size or any(length < 0 for length in lengths):
            raise ShapeMismatch(f"split: sizes {lengths} do not add up to {size}, the size of dimension {dim}")
        return _pieces(tensor, where, lengths)
    step = require_integer(split_size_or_sections, "a size")
    if step < 0 or (step == 0 and size):
        raise ShapeMismatch(f"split: pieces of size {step}, of a dimension of size {size}")
    return _pieces(tensor, where, [min(step, size - start) for start in range(0, size, step or 1)] or [0])


@composite(elements=_elements, samples="chunk(randn(5, 2), 2); randn(2, 5).chunk(4, dim=1); chunk(randn(0, 3), 3)")
def chunk(input: Any, chunks: int, dim: int = 0) -> Any:
    """At most `chunks` pieces along `dim`, equal except for the last."""
    where, size = _dimension(input, dim, "chunk")
    if require_integer(chunks, "the number of chunks") < 1:
        raise ShapeMismatch(f"chunk makes at least 1 piece, not {chunks}")
    return split(input, -(-size // chunks), where) if size else _pieces(input, where, [0] * chunks)


@composite(
    elements=_elements,
    dtypes={"sections": INT64},
    samples="""
        {}(randn(5, 2), 3); {}(randn(2, 5), (1, 4), dim=1); randn(3).{}([1, 5]); {}(randn(3), tensor([1, 2]));
        {}(randn(3), tensor(2))
    """,
)
def tensor_split(input: Any, sections: Any, dim: int = 0) -> Any:
    """Pieces of nearly equal size along `dim`, or split at the indices."""
    where, size = _dimension(input, dim, "tensor_split")
    if hasattr(sections, "dtype"):  # a tensor of integers: one, or a list of them
        if sections.dtype.kind not in "iu":
            raise DtypeMismatch(f"tensor_split takes integers, not {sections.dtype}")
        sections = np.asarray(ops.detach(sections)).tolist()
    if isinstance(sections, (tuple, list)):
        ends = [slice(end).indices(size)[1] for end in sections]
        bounds = [0, *ends, size]
        return tuple(narrow(input, where, a, max(b - a, 0)) for a, b in pairwise(bounds))
    count = require_integer(sections, "the number of sections")
    if count < 1:
        raise ShapeMismatch(f"tensor_split makes at least 1 piece, not {count}")
    return _pieces(input, where, [size // count + (i < size % count) for i in range(count)])


@composite(
    elements=lambda input, dim: _elements(input, _dimension(input, dim, "unbind")[1]),
    samples="unbind(randn(3, 2)); randn(2, 3).unbind(-1); unbind(randn(2, 0))",
)
def unbind(input: Any, dim: int = 0) -> Any:
    """All slices along `dim`, which goes."""
    if not input.ndim:
        raise IndexOutOfRange("unbind takes at least 1 dimension, not 0")
    where, size = _dimension(input, dim, "unbind")
    return tuple(select(input, where, i) for i in range(size))
