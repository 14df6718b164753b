"""Norms of vectors and matrices, by torch's several names for them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcheck.autograd.dtypes import HALVES, named, real_of
from gradcheck.autograd.op import composite, op
from gradcheck.autograd.ops import reduction, rounding
from gradcheck.autograd.ops.cast import to
from gradcheck.autograd.ops.comparison import isnan
from gradcheck.autograd.ops.creation import zeros_like
from gradcheck.autograd.ops.dims import canonical_all
from gradcheck.autograd.ops.extrema import where
from gradcheck.autograd.ops.kinds import require_floating
from gradcheck.autograd.ops.order import movedim
from gradcheck.autograd.ops.reducing import accumulate, axes, restored
from gradcheck.autograd.ops.selection import amax, amin, any_empty
from gradcheck.autograd.ops.shape import squeeze, unsqueeze
from gradcheck.autograd.ops.spectral import svdvals
from gradcheck.errors import ArgumentError, DtypeMismatch, ShapeMismatch

# Vectors -------------------------------------------------------------------------------------------


def _norm_rule(g: Any, y: Any, x: Any, ord: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    """Where the norm is 0, so is the gradient: one of the subgradients, torch's choice."""
    g, y = restored(g, x, dim, keepdim), restored(y, x, dim, keepdim)
    if ord == 0:
        return zeros_like(x)
    if ord == 1:
        return rounding.sgn(x) * g
    if math.isinf(ord):
        extreme = (rounding.abs(x) == y) | isnan(x)
        return rounding.sgn(x) * (where(extreme, g, 0) / reduction.sum(extreme, dim, True))
    flat, size = y == 0, where(y == 0, 1, y)
    if ord == 2:
        return x * where(flat, 0, g / size)
    scale = where(flat, 0, g / size ** (ord - 1))
    if ord > 2:
        return x * rounding.abs(x) ** (ord - 2) * scale
    return rounding.sgn(x) * where(x == 0, 1, rounding.abs(x)) ** (ord - 1) * scale


def _vector_samples(name: str) -> tuple[str, ...]:
    orders = ("2", "1", "0", "inf", "-inf", "3", "2.5", "1.5", "0.5", "-1")
    return (
        f"{name}(randn(2, 3))",
        *(f"{name}(randn(2, 3), {order}, 1)" for order in orders),
        *(f"{name}(tensor([[0.0, 0.0], [0.0, 2.0]]), {order}, 1)" for order in ("2", "1", "inf", "3", "1.5")),
        f"{name}(tensor([[1.0, -1.0], [0.5, 2.0]]), inf, 1)",
        f"{name}(randn(2, 3, 2), 2, dim=(0, 2), keepdim=True)",
        f"{name}(complex(randn(2, 3), randn(2, 3)), 2, 1)",
        f"{name}(complex(randn(2, 3), randn(2, 3)), 3, 1)",
        f"{name}(randn(()), 2)",
        f"{name}(randn(0, 3), 2, 0)",
        f"{name}(randn(2, 3, dtype=torch.float32), 2, 1, dtype=torch.float64)",
    )


@op(
    _norm_rule,
    name="linalg.vector_norm",
    rounds=True,
    holomorphic=False,
    method=False,
    kinks="0",
    samples=_vector_samples("linalg.vector_norm"),
)
def vector_norm(x: Any, ord: float = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """`sum(abs(x)**ord)**(1 / ord)`; for inf the largest size, for -inf the smallest, for 0 how many are not 0."""
    target = named(dtype, x.dtype)
    require_floating("linalg.vector_norm", np.empty(0, target))
    if np.promote_types(x.dtype, target) != target:
        raise DtypeMismatch(f"linalg.vector_norm: {x.dtype} does not fit into {target}")
    work = np.dtype(np.float32) if target in HALVES else target
    size = np.abs(x.astype(work, copy=False))
    run = axes(dim, x.ndim)
    if any_empty(x, run) and (ord < 0 or math.isinf(ord)):
        raise ShapeMismatch(f"linalg.vector_norm: no elements have no norm of order {ord}")
    return accumulate(lambda a: _norm_of_sizes(a, ord, run, keepdim), size, real_of(target))


def _norm_of_sizes(size: Any, ord: float, run: tuple[int, ...], keepdim: bool) -> Any:
    if math.isinf(ord):
        return (np.max if ord > 0 else np.min)(size, axis=run, keepdims=keepdim)
    if ord == 0:
        return np.sum(size != 0, axis=run, keepdims=keepdim)
    if ord == 1:
        return np.sum(size, axis=run, keepdims=keepdim)
    if ord == 2:
        return np.sqrt(np.sum(size * size, axis=run, keepdims=keepdim))
    return np.sum(size**ord, axis=run, keepdims=keepdim) ** (1 / ord)


# Matrices ------------------------------------------------------------------------------------------


_MATRIX_ORDERS = ("'fro'", "'nuc'", 2, -2, 1, -1, "inf", "-inf")


def _plane(name: str, dim: Any, ndim: int) -> tuple[int, int]:
    found = canonical_all(dim, ndim) if ndim > 1 else ()
    if len(found) != 2:
        raise ShapeMismatch(f"{name} runs over two dimensions, not over {dim} of {ndim}")
    return found[0], found[1]


@composite(
    name="linalg.matrix_norm",
    method=False,
    kinks="0, and equal singular values",
    samples=(
        "linalg.matrix_norm(randn(2, 3))",
        *(f"linalg.matrix_norm(randn(2, 3), {order})" for order in _MATRIX_ORDERS),
        "linalg.matrix_norm(randn(2, 3, 4), 1, (0, -1), keepdim=True)",
        "linalg.matrix_norm(randn(2, 3, 4), 'nuc', (2, 0), keepdim=True)",
        "linalg.matrix_norm(randn(2, 3, 4), 2)",
    ),
)
def matrix_norm(A: Any, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, *, dtype: Any = None) -> Any:  # noqa: N803
    """A norm of matrices: "fro", "nuc" (the sum of singular values), 2 (the largest), 1 (the largest column sum), inf
    (the largest row sum); with a minus, the smallest."""
    rows, columns = _plane("linalg.matrix_norm", dim, A.ndim)
    matrix = A if dtype is None else to(A, dtype)
    if ord == "fro":
        return vector_norm(matrix, 2, (rows, columns), keepdim)
    if ord in ("nuc", 2, -2):
        return _spectral(matrix, ord, rows, columns, keepdim)
    if ord not in (1, -1, math.inf, -math.inf):
        raise ArgumentError(f"linalg.matrix_norm has no order {ord!r}", hint="'fro', 'nuc', 1, 2, inf or a negative")
    added, kept = (rows, columns) if ord in (1, -1) else (columns, rows)
    extreme = (amax if ord > 0 else amin)(vector_norm(matrix, 1, added, True), kept, True)
    return extreme if keepdim else squeeze(extreme, (rows, columns))


def _spectral(matrix: Any, ord: Any, rows: int, columns: int, keepdim: bool) -> Any:
    values = svdvals(movedim(matrix, (rows, columns), (-2, -1)))
    found = reduction.sum(values, -1) if ord == "nuc" else (amax if ord > 0 else amin)(values, -1)
    if keepdim:
        for axis in sorted((rows, columns)):
            found = unsqueeze(found, axis)
    return found


# Either --------------------------------------------------------------------------------------------


@composite(
    name="linalg.norm",
    method=False,
    kinks="0",
    samples=(
        "linalg.norm(randn(2, 3))",
        "linalg.norm(randn(2, 3, 2))",
        "linalg.norm(randn(3), 1)",
        "linalg.norm(randn(2, 3), 1)",
        "linalg.norm(randn(2, 3), 'fro')",
        "linalg.norm(randn(2, 3), inf)",
        "linalg.norm(randn(2, 3), dim=1)",
        "linalg.norm(randn(2, 3), 3, dim=1, keepdim=True)",
        "linalg.norm(randn(2, 3, 2), dim=(0, 2))",
        "linalg.norm(randn(2, 3, 2), 1, dim=(0, 2))",
        "linalg.norm(zeros(2, 3))",
    ),
)
def norm(A: Any, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:  # noqa: N803
    """The norm of a vector, or of a matrix where `ord` is given and there are two dimensions; else of all elements."""
    if ord is None:
        return vector_norm(A, 2, dim, keepdim, dtype=dtype)
    pair = isinstance(dim, (tuple, list)) and len(dim) == 2
    if pair or (dim is None and A.ndim == 2) or isinstance(ord, str):
        return matrix_norm(A, ord, dim if pair else (-2, -1), keepdim, dtype=dtype)
    if dim is None and A.ndim != 1:
        raise ShapeMismatch(f"linalg.norm of order {ord} takes one or two dimensions, not {A.ndim}", hint="give dim")
    return vector_norm(A, ord, dim, keepdim, dtype=dtype)


@composite(samples=("dist(randn(2, 3), randn(3))", "dist(randn(3), randn(3), 1)", "dist(randn(3), randn(3), p=inf)"))
def dist(input: Any, other: Any, p: float = 2) -> Any:
    """The norm of the difference, of order `p`."""
    return vector_norm(input - other, p)


@composite(
    name="norm",
    kinks="0",
    samples=(
        "norm(randn(2, 3))",
        "randn(2, 3).norm(1)",
        "randn(2, 3).norm(p=2, dim=1, keepdim=True)",
        "norm(randn(2, 3), 'fro', dim=1)",
        "norm(randn(2, 3), 'fro', dim=(0, 1))",
        "norm(randn(2, 3), 'nuc')",
        "norm(randn(2, 3), inf)",
        "norm(randn(2, 3), 0, 1)",
        "norm(randn(2, 3, 2), 3, (0, 2))",
        "norm(zeros(2, 3))",
    ),
)
def torch_norm(input: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    """`linalg.vector_norm` of order `p` over all dimensions or those of `dim`, whatever their number; or "nuc"."""
    if p == "nuc":
        return matrix_norm(input, p, (-2, -1) if dim is None else dim, keepdim, dtype=dtype)
    return vector_norm(input, 2 if p in ("fro", None) else p, dim, keepdim, dtype=dtype)
