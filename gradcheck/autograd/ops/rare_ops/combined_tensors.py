"""Combinations of tensors, block matrices, statistics, distances."""

from __future__ import annotations

from itertools import chain, combinations_with_replacement
from itertools import combinations as choices
from math import prod
from typing import Any

import numpy as np

from gradcheck.autograd import ops
from gradcheck.autograd.dtype_sets import FULL_REAL_FLOATING
from gradcheck.autograd.op import composite
from gradcheck.autograd.ops.common.dims import canonical_dim, require_integer
from gradcheck.autograd.ops.common.nn_functional import nn_functional_op
from gradcheck.errors import ArgumentError, DtypeMismatch, IndexOutOfRange, ShapeMismatch

# Combinations ----------------------------------------------------------------------------------------


def _tuples(n: int, r: int) -> int:
    """Return how many rows torch makes without regard to order, up to 2**64."""
    return 2**64 if r * (int(n).bit_length() - 1) > 64 else max(int(n) ** min(r, 64), 1)


@composite(
    method=False,
    samples="combinations(randn(4)); combinations(randn(3), 3); combinations(randn(3), with_replacement=True)",
    elements=lambda input, r, with_replacement: _tuples(prod(input.shape), r) * r,
)
def combinations(input: Any, r: int = 2, with_replacement: bool = False) -> Any:
    """Each choice of `r` elements of a vector, in order, as a row."""
    if input.ndim != 1:
        raise ShapeMismatch(f"combinations takes a vector, not a shape of {list(input.shape)}")
    if r < 0:
        raise ArgumentError(f"combinations takes an r of at least 0, not {r}")
    if not r:
        return ops.zeros([0], dtype=input.dtype)
    size = int(input.shape[0])
    if not size or (r > size and not with_replacement):  # there is none, and Python would make room for one
        return input[np.zeros((0, r), np.int64)]
    listed = (combinations_with_replacement if with_replacement else choices)(range(size), r)
    return input[np.fromiter(chain.from_iterable(listed), np.int64).reshape(-1, r)]


@composite(
    variadic="tensors", method=False, samples="cartesian_prod(randn(2), randn(3)); cartesian_prod(randn(2))",
    elements=lambda tensors: prod(int(prod(t.shape)) for t in tensors) * len(tensors),
)  # fmt: skip
def cartesian_prod(tensors: Any) -> Any:
    """Each choice of one element of every vector, as a row."""
    if any(tensor.ndim != 1 for tensor in tensors):
        raise ShapeMismatch("cartesian_prod takes vectors")
    if len(tensors) == 1:
        return tensors[0]
    grids = ops.meshgrid(list(tensors), indexing="ij")
    return ops.stack([ops.reshape(grid, (prod(grid.shape),)) for grid in grids], 1)


@composite(
    variadic="tensors", method=False, samples="block_diag(randn(2, 2), randn(1, 3)); block_diag(randn(2), randn(()))",
    elements=lambda tensors: sum(int(prod(t.shape)) for t in tensors) ** 2,
)  # fmt: skip
def block_diag(tensors: Any) -> Any:
    """The matrices along the diagonal, zeros elsewhere; a vector is a row."""
    if any(tensor.ndim > 2 for tensor in tensors):
        raise ShapeMismatch("block_diag takes tensors of at most 2 dimensions")
    parts = [ops.reshape(t, (1, prod(t.shape))) if t.ndim < 2 else t for t in tensors]
    width, column, rows = sum(int(part.shape[1]) for part in parts), 0, []
    for part in parts:
        rows.append(ops.constant_pad_nd(part, (column, width - column - int(part.shape[1]))))
        column += int(part.shape[1])
    return ops.cat(rows, 0)


# Statistics of rows ----------------------------------------------------------------------------------


def _observations(input: Any, name: str) -> Any:
    if input.ndim > 2:
        raise ShapeMismatch(f"{name} takes at most 2 dimensions, not {input.ndim}")
    return ops.reshape(input, (1, prod(input.shape))) if input.ndim < 2 else input


def _are_valid_weights(weights: np.ndarray) -> bool:
    """Compare as plain numbers, so that no branch of the graph is recorded."""
    return bool(weights.any()) and float(weights.min()) >= 0


def _weights(fweights: Any, aweights: Any, size: int) -> Any:
    for weights in (fweights, aweights):
        if weights is not None and list(weights.shape) != [size]:
            raise ShapeMismatch(f"cov: weights of shape {list(weights.shape)} for {size} observations")
        if weights is not None and not _are_valid_weights(np.asarray(ops.detach(weights))):
            raise ArgumentError("cov takes weights from 0 up, and not all of them 0")
    if fweights is None or aweights is None:
        return aweights if fweights is None else fweights
    return fweights * aweights


@composite(
    samples="""
        {}(randn(2, 5)); {}(randn(5)); {}(randn(2, 4), correction=0, fweights=tensor([1, 2, 1, 3]));
        {}(randn(2, 3), aweights=detach(rand(3))); {}(complex(randn(2, 3), randn(2, 3)))
    """,
    elements=lambda input, *_: _rows_by_rows(input),
)
def cov(input: Any, *, correction: int = 1, fweights: Any = None, aweights: Any = None) -> Any:
    """Covariances of the rows, weighted by `fweights` or `aweights`."""
    if input.dtype.kind == "b":
        raise DtypeMismatch("cov does not take booleans")
    rows, correction = _observations(input, "cov"), require_integer(correction, "the correction")
    size = int(rows.shape[1])
    weights = _weights(fweights, aweights, size)
    if weights is None:
        away = rows - ops.mean(rows, 1, True)
        total: Any = max(size - correction, 0)
        shared = away
    else:
        count = ops.sum(weights)
        away = rows - ops.sum(rows * weights, 1, True) / count
        total, shared = _effective_count(count, weights, aweights, correction), away * weights
    found = shared @ ops.conj(away).T / total
    return ops.squeeze(found) if input.ndim < 2 or rows.shape[0] == 1 else found


def _rows_by_rows(input: Any) -> int:
    return max(int(prod(input.shape)), int(input.shape[0]) ** 2 if input.ndim == 2 else 1)


def _effective_count(count: Any, weights: Any, aweights: Any, correction: int) -> Any:
    """Return the divisor: the number of observations less the correction."""
    if not correction:
        return count
    lost = correction if aweights is None else correction * ops.sum(weights * aweights) / count
    return ops.clamp(count - lost, min=0)


@composite(
    samples="corrcoef(randn(3, 5)); corrcoef(randn(4)); corrcoef(complex(randn(2, 4), randn(2, 4)))",
    elements=lambda input: _rows_by_rows(input),
)
def corrcoef(input: Any) -> Any:
    """The correlations of the rows."""
    found = cov(input)
    if not found.ndim:
        return found / found
    root = ops.sqrt(ops.diagonal(found))
    return found / ops.unsqueeze(root, 1) / ops.unsqueeze(root, 0)


# Distances -------------------------------------------------------------------------------------------


@nn_functional_op(
    kinks="equal vectors",
    dtypes={"input": FULL_REAL_FLOATING},
    samples="pdist(randn(4, 3)); pdist(randn(3, 2), 1.0); pdist(randn(3, 2), inf)",
    elements=lambda input, p: prod(input.shape) * int(input.shape[0]),
)
def pdist(input: Any, p: float = 2.0) -> Any:
    """The p-norm distances of all pairs of rows, the first row's first."""
    if input.ndim != 2:
        raise ShapeMismatch(f"pdist takes rows of a matrix, not a shape of {list(input.shape)}")
    if p < 0:
        raise ArgumentError(f"pdist takes a p of at least 0, not {p}")
    first, second = np.triu_indices(int(input.shape[0]), 1)
    return ops.norm(input[first] - input[second], p, -1)


@nn_functional_op(
    samples="""
        {}(randn(3, 4), randn(5, 4), tensor([0, 2, 4])); {}(randn(4), randn(3, 4), tensor(1), linear_bias=randn(3));
        {}(randn(2, 4), randn(3, 4), tensor([0, -100]), reduction='sum', label_smoothing=0.1);
        {}(randn(2, 4), randn(3, 2, 4), tensor([[0, 2], [1, 1]]))
    """,
    elements=lambda input, weight, *_: prod(map(int, input.shape[:-1])) * prod(map(int, weight.shape[:-1])),
)
def linear_cross_entropy(
    input: Any, linear_weight: Any, target: Any, *, linear_bias: Any = None, weight: Any = None,
    reduction: str = "mean", ignore_index: int | None = None, label_smoothing: float = 0.0,
) -> Any:  # fmt: skip
    """`cross_entropy` of `linear(input, linear_weight, linear_bias)`."""
    classes = tuple(map(int, linear_weight.shape[:-1]))
    rows = ops.reshape(linear_weight, (prod(classes), linear_weight.shape[-1]))
    scores = ops.reshape(input @ rows.T, (*input.shape[:-1], *classes))
    if linear_bias is not None and tuple(linear_bias.shape) != classes:
        raise ShapeMismatch(f"linear_cross_entropy: a bias of shape {list(linear_bias.shape)} for {list(classes)}")
    if linear_bias is not None:
        scores = scores + linear_bias
    ignored = -100 if ignore_index is None else ignore_index
    return ops.cross_entropy(
        scores, target, weight, ignore_index=ignored, reduction=reduction, label_smoothing=label_smoothing
    )


# Vectors ---------------------------------------------------------------------------------------------


def _broadcast_vectors(a: Any, b: Any, dim: int, name: str) -> Any:
    shape = np.broadcast_shapes(tuple(a.shape), tuple(b.shape))
    axis = canonical_dim(dim, len(shape))
    if a.shape[axis] != 3 or b.shape[axis] != 3:
        raise ShapeMismatch(f"{name} takes 3 numbers along dimension {dim}, not {a.shape[axis]} and {b.shape[axis]}")
    a, b = (x if tuple(x.shape) == shape else ops.broadcast_to(x, shape) for x in (a, b))
    one, two = (tuple(ops.roll(x, shift, axis) for shift in (-1, -2)) for x in (a, b))
    return one[0] * two[1] - one[1] * two[0]


@composite(
    name="linalg.cross",
    method=False,
    latex=r"# \times #",
    samples="{}(randn(2, 3), randn(2, 3)); {}(randn(3, 2), randn(3, 1), dim=0)",
)
def linalg_cross(input: Any, other: Any, *, dim: int = -1) -> Any:
    """The vector product of vectors along `dim`."""
    if input.ndim != other.ndim:
        raise ShapeMismatch(f"linalg.cross: {input.ndim} and {other.ndim} dimensions")
    return _broadcast_vectors(input, other, dim, "linalg.cross")


@composite(latex=r"# \times #", samples="cross(randn(2, 3), randn(2, 3)); cross(randn(3, 2), randn(3, 2), 0)")
def cross(input: Any, other: Any, dim: int | None = None) -> Any:
    """The vector product along `dim`, or the first dimension of size 3."""
    if input.ndim != other.ndim:
        raise ShapeMismatch(f"cross: {list(input.shape)} and {list(other.shape)} have not as many dimensions")
    if dim is None:
        dim = next((d for d, size in enumerate(input.shape) if size == 3), None)
        if dim is None:
            raise IndexOutOfRange(f"cross: no dimension of {list(input.shape)} has size 3")
    return _broadcast_vectors(input, other, dim, "cross")
