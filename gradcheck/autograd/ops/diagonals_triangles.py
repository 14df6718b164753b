"""Diagonals and triangles of matrices: `diagonal`, `trace`, `tril`, …"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from gradcheck.autograd import ops
from gradcheck.autograd.dtype_sets import NUMBERS
from gradcheck.autograd.op import composite, linear
from gradcheck.autograd.ops.common.dims import canonical_dim
from gradcheck.autograd.ops.shape_casts import ravel
from gradcheck.errors import DtypeMismatch, IndexOutOfRange, ShapeMismatch


def _plane(dim1: int, dim2: int, ndim: int, name: str) -> tuple[int, int]:
    first, second = canonical_dim(dim1, ndim), canonical_dim(dim2, ndim)
    if first == second:
        raise ShapeMismatch(f"{name}: a diagonal lies in two different dimensions, not {dim1} and {dim2} of {ndim}")
    return first, second


@linear(
    lambda g, y, x, offset, dim1, dim2: ops.diagonal_scatter(ops.zeros_like(x), g, offset, dim1, dim2),
    samples="""
        {}(randn(3, 3)); {}(randn(2, 4), 1); randn(4, 2).{}(-2); {}(randn(2, 3, 4), offset=-1, dim1=-2, dim2=0);
        {}(randn(2, 3), 3)
    """,
)
def diagonal(input: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """Diagonals in `dim1` and `dim2`; `offset` counts to the upper right."""
    return np.diagonal(input, offset, *_plane(dim1, dim2, input.ndim, "diagonal"))


@linear(
    (
        lambda g, y, x, src, offset, dim1, dim2: ops.diagonal_scatter(g, ops.zeros_like(src), offset, dim1, dim2),
        lambda g, y, x, src, offset, dim1, dim2: diagonal(g, offset, dim1, dim2),
    ),
    samples="diagonal_scatter(randn(3, 3), randn(3)); diagonal_scatter(randn(2, 3, 4), randn(3, 2), -1, 2, 0)",
)
def diagonal_scatter(input: Any, src: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """`input` with `src` written on the diagonal that `diagonal` would give."""
    out = np.array(input)
    view = np.diagonal(out, offset, *_plane(dim1, dim2, input.ndim, "diagonal_scatter"))
    if view.shape != src.shape:
        raise ShapeMismatch(f"diagonal_scatter: {list(src.shape)} for a diagonal of shape {list(view.shape)}")
    view.flags.writeable = True
    view[...] = src
    return out


def _embedded_elements(input: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> int:
    side = input.shape[-1] + abs(offset) if input.ndim else 1
    return int(prod(input.shape[:-1]) * side * side)


@linear(
    lambda g, y, x, offset, dim1, dim2: diagonal(g, offset, dim1, dim2),
    elements=_embedded_elements,
    samples="""
        {}(randn(3)); {}(randn(2, 3), 1); randn(2, 3).{}(-1, 0, 2); {}(randn(2, 3), dim1=-1, dim2=0);
        {}(randn(2, 3), 1, 2, 0); {}(randn(0))
    """,
)
def diag_embed(input: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """Square matrices, in `dim1` and `dim2`, of these diagonals."""
    if not input.ndim:
        raise IndexOutOfRange("diag_embed takes at least 1 dimension, not 0")
    first, second = _plane(dim1, dim2, input.ndim + 1, "diag_embed")
    side = input.shape[-1] + abs(offset)
    sizes = list(input.shape[:-1])
    for dim in sorted((first, second)):
        sizes.insert(dim, side)
    out = np.zeros(sizes, dtype=input.dtype)
    view = np.diagonal(out, offset, first, second)
    view.flags.writeable = True
    view[...] = input
    return out


@composite(
    elements=lambda input, diagonal=0: max(prod(input.shape), (input.shape[0] + abs(diagonal)) ** 2),
    samples="diag(randn(3)); diag(randn(3), -1); diag(randn(2, 3)); randn(3, 2).diag(1)",
)
def diag(input: Any, diagonal: int = 0) -> Any:
    """A vector as a diagonal matrix, or a matrix's diagonal as a vector."""
    if input.ndim == 1:
        return diag_embed(input, diagonal)
    if input.ndim != 2:
        raise ShapeMismatch(f"diag takes 1 or 2 dimensions, not {input.ndim}")
    return ops.diagonal(input, diagonal)


@composite(
    elements=lambda input, offset=0: (prod(input.shape) + abs(offset)) ** 2,
    samples="diagflat(randn(2, 2)); diagflat(randn(2), 1)",
)
def diagflat(input: Any, offset: int = 0) -> Any:
    """All elements, in row-major order, as the diagonal of a matrix."""
    return diag_embed(ravel(input), offset)


@composite(
    name="linalg.diagonal",
    method=False,
    samples="linalg.diagonal(randn(2, 3, 3)); linalg.diagonal(randn(2, 3, 4), offset=1, dim1=0, dim2=1)",
)
def linalg_diagonal(A: Any, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """`diagonal`, of the last two dimensions."""
    return diagonal(A, offset, dim1, dim2)


@composite(
    dtypes={"input": NUMBERS},
    latex=r"\operatorname{tr}",
    samples="trace(randn(3, 3)); randn(2, 4).trace(); trace(randn(0, 0))",
)
def trace(input: Any) -> Any:
    """The sum of a matrix's diagonal."""
    if input.ndim != 2:
        raise ShapeMismatch(f"trace takes a matrix, not {input.ndim} dimensions")
    return ops.sum(diagonal(input))


def _check_triangle(input: Any, diagonal: int, name: str) -> None:
    if input.ndim < 2:
        raise ShapeMismatch(f"{name} takes matrices, at least 2 dimensions, not {input.ndim}")
    if isinstance(diagonal, float):
        raise DtypeMismatch(f"{name} takes an integer as diagonal, not {diagonal}")


_TRIANGLES = """
    {}(randn(3, 3)); {}(randn(2, 3, 4), 1); randn(3, 2).{}(-1); {}(randn(0, 3))
"""


@linear(lambda g, y, x, diagonal: ops.tril(g, diagonal), samples=_TRIANGLES)
def tril(input: Any, diagonal: int = 0) -> Any:
    """The lower triangle, up to this diagonal; zeros above."""
    _check_triangle(input, diagonal, "tril")
    return np.tril(input, diagonal)


@linear(lambda g, y, x, diagonal: ops.triu(g, diagonal), samples=_TRIANGLES)
def triu(input: Any, diagonal: int = 0) -> Any:
    """The upper triangle, from this diagonal on; zeros below."""
    _check_triangle(input, diagonal, "triu")
    return np.triu(input, diagonal)
