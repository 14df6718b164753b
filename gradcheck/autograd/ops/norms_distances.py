"""Norms of vectors and matrices, by torch's names, and distances.

Derivatives of norms: Petersen and Pedersen, The matrix cookbook, 2012, 2.6. Where a norm is 0, or several elements
share a largest magnitude, the gradient is a subgradient, torch's choice.
"""

from __future__ import annotations

import math
from math import prod
from typing import Any

import numpy as np

from gradcheck.autograd import ops
from gradcheck.autograd.dtype_sets import FLOATING, FULL_REAL_FLOATING, REAL_FLOATING
from gradcheck.autograd.dtypes import HALVES, named, real_of
from gradcheck.autograd.op import composite, op
from gradcheck.autograd.ops.common.arguments import accumulate, require_floating
from gradcheck.autograd.ops.common.dims import (
    any_empty,
    canonical_dim,
    canonical_dims,
    own_broadcast_shape,
    reduced_axes,
    restore_reduced_dims,
)
from gradcheck.autograd.ops.common.nn_functional import (
    count_broadcast_elements,
    nn_functional_op,
    require_one_float_dtype,
)
from gradcheck.autograd.ops.comparison_where import isnan, where
from gradcheck.autograd.ops.creation import zeros_like
from gradcheck.autograd.ops.factorizations import svdvals
from gradcheck.autograd.ops.min_max import amax, amin
from gradcheck.autograd.ops.shape_casts import squeeze, to, unsqueeze
from gradcheck.autograd.ops.transpose_flip import movedim
from gradcheck.errors import ArgumentError, DtypeMismatch, ShapeMismatch

# Norms of vectors ----------------------------------------------------------------------------------


def _norm_rule(g: Any, y: Any, x: Any, ord: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    """x |x|^(p - 2) / norm^(p - 1), safe for zeros; 0 at norm 0."""
    g, y = restore_reduced_dims(g, x, dim, keepdim), restore_reduced_dims(y, x, dim, keepdim)
    if ord == 0:
        return zeros_like(x)
    if ord == 1:
        return ops.sgn(x) * g
    if math.isinf(ord):
        extreme = (ops.abs(x) == y) | isnan(x)
        return ops.sgn(x) * (where(extreme, g, 0) / ops.sum(extreme, dim, True))
    flat, size = y == 0, where(y == 0, 1, y)
    if ord == 2:
        return x * where(flat, 0, g / size)
    scale = where(flat, 0, g / size ** (ord - 1))
    if ord > 2:
        return x * ops.abs(x) ** (ord - 2) * scale
    return ops.sgn(x) * where(x == 0, 1, ops.abs(x)) ** (ord - 1) * scale


@op(
    _norm_rule,
    name="linalg.vector_norm",
    rounds=True,
    holomorphic=False,
    method=False,
    kinks="0",
    dtypes={"dtype": FLOATING},
    latex=r"\left\| # \right\|",
    samples="""
        {}(randn(2, 3)); {}(randn(2, 3), 2, 1); {}(randn(2, 3), 1, 1); {}(randn(2, 3), 0, 1); {}(randn(2, 3), inf, 1);
        {}(randn(2, 3), -inf, 1); {}(randn(2, 3), 3, 1); {}(randn(2, 3), 2.5, 1); {}(randn(2, 3), 1.5, 1);
        {}(randn(2, 3), 0.5, 1); {}(randn(2, 3), -1, 1);
        {}(tensor([[0.0, 0.0], [0.0, 2.0]]), 2, 1); {}(tensor([[0.0, 0.0], [0.0, 2.0]]), 1, 1);
        {}(tensor([[0.0, 0.0], [0.0, 2.0]]), inf, 1); {}(tensor([[0.0, 0.0], [0.0, 2.0]]), 3, 1);
        {}(tensor([[0.0, 0.0], [0.0, 2.0]]), 1.5, 1); {}(tensor([[1.0, -1.0], [0.5, 2.0]]), inf, 1);
        {}(randn(2, 3, 2), 2, dim=(0, 2), keepdim=True); {}(complex(randn(2, 3), randn(2, 3)), 2, 1);
        {}(complex(randn(2, 3), randn(2, 3)), 3, 1); {}(randn(()), 2); {}(randn(0, 3), 2, 0);
        {}(randn(2, 3, dtype=torch.float32), 2, 1, dtype=torch.float64)
    """,
)
def vector_norm(x: Any, ord: float = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """`sum(abs(x)**ord)**(1 / ord)`; inf, -inf and 0 as their limits."""
    target = named(dtype, x.dtype)
    require_floating("linalg.vector_norm", x.dtype)
    _check_dtype("linalg.vector_norm", x.dtype, target)
    work = np.dtype(np.float32) if target in HALVES else target
    size = np.abs(x.astype(work, copy=False))
    run = reduced_axes(dim, x.ndim)
    if any_empty(x, run) and (ord < 0 or math.isinf(ord)):
        raise ShapeMismatch(f"linalg.vector_norm: no elements have no norm of order {ord}")
    return accumulate(lambda a: _norm_of_sizes(a, ord, run, keepdim), size, real_of(target))


def _check_dtype(name: str, dtype: Any, target: Any) -> None:
    """Raise DtypeMismatch unless `target` holds all of `dtype`'s numbers."""
    is_real = dtype.kind != "c" and target.kind != "c"
    if dtype != target and (not is_real or np.promote_types(dtype, target) != target):
        raise DtypeMismatch(f"{name}: {dtype} does not fit into {target}")


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


# Norms of matrices ---------------------------------------------------------------------------------


def _plane(name: str, dim: Any, ndim: int) -> tuple[int, int]:
    found = canonical_dims(dim, ndim) if ndim > 1 else ()
    if len(found) != 2:
        raise ShapeMismatch(f"{name} runs over two dimensions, not over {dim} of {ndim}")
    return found[0], found[1]


@composite(
    name="linalg.matrix_norm",
    method=False,
    kinks="0, and equal singular values",
    latex=r"\left\| # \right\|_{\mathrm{F}}",
    samples="""
        {}(randn(2, 3)); {}(randn(2, 3), 'fro'); {}(randn(2, 3), 'nuc'); {}(randn(2, 3), 2); {}(randn(2, 3), -2);
        {}(randn(2, 3), 1); {}(randn(2, 3), -1); {}(randn(2, 3), inf); {}(randn(2, 3), -inf);
        {}(randn(2, 3, 4), 1, (0, -1), keepdim=True); {}(randn(2, 3, 4), 'nuc', (2, 0), keepdim=True);
        {}(randn(2, 3, 4), 2)
    """,
)
def matrix_norm(A: Any, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, *, dtype: Any = None) -> Any:
    """ "fro", "nuc", 2, 1 (columns) or inf (rows); negative: the smallest."""
    rows, columns = _plane("linalg.matrix_norm", dim, A.ndim)
    if dtype is not None:
        _check_dtype("linalg.matrix_norm", A.dtype, dtype)
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
    if matrix.dtype in HALVES:
        raise DtypeMismatch(f"linalg.matrix_norm of order {ord!r} does not take {matrix.dtype}", hint="x.float()")
    values = svdvals(movedim(matrix, (rows, columns), (-2, -1)))
    found = ops.sum(values, -1) if ord == "nuc" else (amax if ord > 0 else amin)(values, -1)
    if keepdim:
        for axis in sorted((rows, columns)):
            found = unsqueeze(found, axis)
    return found


# Norms of either -----------------------------------------------------------------------------------


@composite(
    name="linalg.norm",
    method=False,
    kinks="0",
    latex=r"\left\| # \right\|",
    samples="""
        {}(randn(2, 3)); {}(randn(2, 3, 2)); {}(randn(3), 1); {}(randn(2, 3), 1); {}(randn(2, 3), 'fro');
        {}(randn(2, 3), inf); {}(randn(2, 3), dim=1); {}(randn(2, 3), 3, dim=1, keepdim=True);
        {}(randn(2, 3, 2), dim=(0, 2)); {}(randn(2, 3, 2), 1, dim=(0, 2)); {}(zeros(2, 3))
    """,
)
def norm(A: Any, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The norm of all elements, or of order `ord` of a vector or matrix."""
    if isinstance(dim, (tuple, list)) and len(dim) not in (1, 2):
        raise ShapeMismatch(f"linalg.norm runs over one or two dimensions, not over {len(dim)}")
    if ord is None:
        return vector_norm(A, 2, dim, keepdim, dtype=dtype)
    pair = isinstance(dim, (tuple, list)) and len(dim) == 2
    if isinstance(ord, str) and not pair and (dim is not None or A.ndim > 2):
        raise ShapeMismatch(f"linalg.norm of order {ord!r} runs over two dimensions", hint="give dim=(-2, -1)")
    if pair or (dim is None and A.ndim == 2) or isinstance(ord, str):
        return matrix_norm(A, ord, dim if pair else (-2, -1), keepdim, dtype=dtype)
    if dim is None and A.ndim != 1:
        raise ShapeMismatch(f"linalg.norm of order {ord} takes one or two dimensions, not {A.ndim}", hint="give dim")
    return vector_norm(A, ord, dim, keepdim, dtype=dtype)


@composite(
    name="norm",
    kinks="0",
    latex=r"\left\| # \right\|",
    samples="""
        norm(randn(2, 3)); randn(2, 3).norm(1); randn(2, 3).norm(p=2, dim=1, keepdim=True);
        norm(randn(2, 3), 'fro', dim=1); norm(randn(2, 3), 'fro', dim=(0, 1)); norm(randn(2, 3), 'nuc');
        norm(randn(2, 3), inf); norm(randn(2, 3), 0, 1); norm(randn(2, 3, 2), 3, (0, 2)); norm(zeros(2, 3))
    """,
)
def torch_norm(input: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    """The vector norm of order `p` over `dim`, or of all; or "nuc"."""
    if p == "nuc" and dim is None and input.ndim != 2:
        raise ShapeMismatch(f"norm of order 'nuc' takes matrices, not {input.ndim} dimensions", hint="dim=(-2, -1)")
    if p == "nuc":
        return matrix_norm(input, p, (-2, -1) if dim is None else dim, keepdim, dtype=dtype)
    return vector_norm(input, 2 if p in ("fro", None) else p, dim, keepdim, dtype=dtype)


# Distances -----------------------------------------------------------------------------------------


@composite(
    dtypes={"input other": FLOATING},
    samples="dist(randn(2, 3), randn(3)); dist(randn(3), randn(3), 1); dist(randn(3), randn(3), p=inf)",
)
def dist(input: Any, other: Any, p: float = 2) -> Any:
    """The norm of the difference, of order `p`."""
    return vector_norm(input - other, p)


@nn_functional_op(
    torch="cosine_similarity",
    kinks="0",
    elements=count_broadcast_elements,
    dtypes={"x1 x2": REAL_FLOATING},
    samples="""
        {}(randn(2, 3), randn(2, 3)); {}(randn(2, 3), randn(3), dim=-1); {}(randn(2, 3, 2), randn(2, 1, 2), 0);
        {}(randn(3), randn(3), dim=0, eps=1e-6)
    """,
)
def cosine_similarity(x1: Any, x2: Any, dim: int = 1, eps: float = 1e-8) -> Any:
    """The cosine between vectors along `dim`; norms are at least `eps`."""
    shape = own_broadcast_shape("cosine_similarity", tuple(x1.shape), tuple(x2.shape))
    axis = canonical_dim(dim, len(shape)) - len(shape)
    if not eps >= 0:
        raise ArgumentError(f"cosine_similarity takes an eps of at least 0, not {eps}")
    spread = [x if tuple(x.shape) == shape else ops.broadcast_to(x, shape) for x in (x1, x2)]
    norms = [ops.clamp(ops.norm(x, 2, axis, True), min=eps) for x in spread]
    return ops.sum((x1 / norms[0]) * (x2 / norms[1]), axis)


@nn_functional_op(
    elements=count_broadcast_elements,
    kinks="equal vectors",
    dtypes={"x1 x2": FLOATING},
    samples="""
        {}(randn(2, 3), randn(2, 3)); {}(randn(2, 3), randn(3), 1.0, keepdim=True);
        {}(randn(3), randn(3), p=3, eps=0.01)
    """,
)
def pairwise_distance(x1: Any, x2: Any, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Any:
    """The p-norm of `x1 - x2 + eps` along the last dimension."""
    return ops.norm(x1 - x2 + eps, p, -1, keepdim)


def _differences(a: tuple[int, ...], b: tuple[int, ...]) -> int:
    """Return the number of differences between all pairs of rows."""
    return prod(np.broadcast_shapes(a[:-2], b[:-2])) * a[-2] * b[-2] * max(a[-1], 1)


#: torch's ways to compute distances of order 2.
_COMPUTE_MODES = tuple(
    f"{how}use_mm_for_euclid_dist{when}" for how, when in (("", ""), ("", "_if_necessary"), ("donot_", ""))
)


@nn_functional_op(
    torch="cdist",
    kinks="equal vectors",
    dtypes={"x1 x2": FULL_REAL_FLOATING},
    samples="""
        cdist(randn(2, 3), randn(4, 3)); cdist(randn(2, 2, 3), randn(4, 3), p=1.0); cdist(randn(0, 3), randn(4, 3))
    """,
    elements=lambda x1, x2, *_: _differences(tuple(map(int, x1.shape)), tuple(map(int, x2.shape))),
)
def cdist(x1: Any, x2: Any, p: float = 2.0, compute_mode: str | None = "use_mm_for_euclid_dist_if_necessary") -> Any:
    """The p-norm distances of rows (…, m, d) and (…, n, d): (…, m, n)."""
    require_one_float_dtype("cdist", x1, x2)
    if compute_mode not in _COMPUTE_MODES:
        raise ArgumentError(f"cdist has no compute_mode {compute_mode!r}")
    if not p >= 0:
        raise ArgumentError(f"cdist takes a p of at least 0, not {p}")
    if x1.ndim < 2 or x2.ndim < 2 or x1.shape[-1] != x2.shape[-1]:
        raise ShapeMismatch(f"cdist: rows of shapes {list(x1.shape)} and {list(x2.shape)} have no distance")
    return ops.norm(ops.unsqueeze(x1, -2) - ops.unsqueeze(x2, -3), p, -1)
