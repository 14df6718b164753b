"""Order statistics: quantiles, medians, modes, the k-th smallest."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcheck.autograd import ops
from gradcheck.autograd.dtype_sets import FULL_REAL_FLOATING
from gradcheck.autograd.op import composite, op
from gradcheck.autograd.ops.common.arguments import refuse_complex
from gradcheck.autograd.ops.common.dims import canonical_dim, require_integer
from gradcheck.autograd.ops.comparison_where import where
from gradcheck.autograd.ops.gather_scatter import gather
from gradcheck.autograd.ops.sorting import sort
from gradcheck.errors import ArgumentError, DtypeMismatch, IndexOutOfRange, ShapeMismatch

# One place along a dimension -------------------------------------------------------------------------


def _picked(input: Any, dim: int, places: Any, keepdim: bool) -> tuple[Any, Any]:
    """Return the elements at these indices, and the indices."""
    values = gather(input, dim, places)
    return (values, places) if keepdim or not input.ndim else (ops.squeeze(values, dim), ops.squeeze(places, dim))


def _axis(input: Any, dim: int, name: str) -> int:
    refuse_complex(name, input.dtype)
    axis = canonical_dim(dim, input.ndim)
    if input.ndim and not input.shape[axis]:
        raise IndexOutOfRange(f"{name}: there is no element along dimension {axis} of {list(input.shape)}")
    return axis


def _places_of_rank(input: Any, dim: int, rank: Any) -> Any:
    """Return indices of these ranks; `rank` is an array or a number."""
    order = np.argsort(input, axis=dim, kind="stable")
    if not hasattr(rank, "shape"):
        return np.take(order, [rank], axis=dim)
    return np.take_along_axis(order, rank, axis=dim)


def _median_rank(input: Any, dim: int, skip: bool) -> Any:
    """Return the rank of the lower median; of the first NaN unless `skip`."""
    size = input.shape[dim]
    if input.dtype.kind != "f":
        return (size - 1) // 2
    numbers = np.sum(~np.isnan(input), axis=dim, keepdims=True)
    if skip:
        return np.maximum(numbers - 1, 0) // 2
    return np.where(numbers < size, numbers, (size - 1) // 2)


@op(torch="", method=False, samples="median_place(randn(2, 5), 1, False); median_place(tensor([1.0, nan]), 0, True)")
def median_place(input: Any, dim: int, skip: bool) -> Any:
    """The index of the lower median along `dim`; `skip` ignores NaN."""
    if not input.ndim:
        return np.zeros((), np.int64)
    return _places_of_rank(input, dim, _median_rank(input, dim, skip)).astype(np.int64)


def _share_among_equals(g: Any, y: Any, x: Any, skip: bool) -> Any:
    """Share the cotangent evenly, as torch does for the median of all."""
    tied = (x == y) | ((x != x) & (y != y))
    return where(tied, g, 0) / ops.sum(tied)


@op(
    _share_among_equals,
    torch="",
    method=False,
    kinks="ties",
    samples="{}(randn(5), False); {}(tensor([1.0, nan]), True)",
)
def median_of_all(input: Any, skip: bool) -> Any:
    """The lower median of all elements; `skip` ignores NaN."""
    flat = input.reshape(-1)
    return flat[median_place(flat, 0, skip)[0]]


def _median(name: str, input: Any, dim: Any, keepdim: bool, skip: bool) -> Any:
    if dim is None:
        refuse_complex(name, input.dtype)
        if keepdim:
            raise ArgumentError(f"{name} keeps a dimension where there is a dim")
        if not math.prod(input.shape):
            return ops.full([], math.nan, dtype=input.dtype)
        return median_of_all(input, skip)
    axis = _axis(input, dim, name)
    return _picked(input, axis, median_place(ops.detach(input), axis, skip), keepdim)


_MEDIANS = """
    {}(randn(5)); {}(randn(2, 3), 1); {}(randn(2, 4), dim=0, keepdim=True)[0]; {}(tensor([1.0, nan, 3.0]));
    {}(randn(()), 0)
"""


@composite(kinks="ties", samples=_MEDIANS)
def median(input: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    """The lower median, NaN if there is one; with `dim`, its index too."""
    return _median("median", input, dim, keepdim, False)


@composite(kinks="ties", samples=_MEDIANS)
def nanmedian(input: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    """The lower median without NaN; with `dim`, its index too."""
    return _median("nanmedian", input, dim, keepdim, True)


@op(torch="", method=False, samples="ranked_place(randn(2, 5), 2, 1)")
def ranked_place(input: Any, k: int, dim: int) -> Any:
    """The index of the `k`-th smallest element along `dim`."""
    return _places_of_rank(input, dim, k - 1).astype(np.int64) if input.ndim else np.zeros((), np.int64)


@composite(kinks="ties", samples="{}(randn(5), 2); {}(randn(2, 3), 3, 1, True)[0]; {}(randn(2, 3), k=1, dim=0)")
def kthvalue(input: Any, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    """The `k`-th smallest element along `dim`, from 1, and its index."""
    axis = _axis(input, dim, "kthvalue")
    if not 1 <= require_integer(k, "k") <= (input.shape[axis] if input.ndim else 1):
        raise IndexOutOfRange(f"kthvalue: there is no element {k} along dimension {axis} of {list(input.shape)}")
    return _picked(input, axis, ranked_place(ops.detach(input), k, axis), keepdim)


def _most_frequent(line: np.ndarray) -> int:
    values, counts = np.unique(line, return_counts=True)
    return int(np.flatnonzero(line == values[np.argmax(counts)])[-1])


@op(torch="", method=False, samples="mode_place(tensor([1.0, 2.0, 2.0]), 0)")
def mode_place(input: Any, dim: int) -> Any:
    """The last index of the most frequent element along `dim`."""
    if not input.ndim:
        return np.zeros((), np.int64)
    if not input.size:
        return np.zeros([1 if d == dim else n for d, n in enumerate(input.shape)], np.int64)
    return np.expand_dims(np.apply_along_axis(_most_frequent, dim, input), dim).astype(np.int64)


@composite(
    kinks="ties", samples="{}(tensor([[1.0, 2.0, 2.0], [3.0, 3.0, 1.0]]), 1); {}(randn(3)); {}(randn(2, 3), 0, True)[0]"
)
def mode(input: Any, dim: int = -1, keepdim: bool = False) -> Any:
    """The most frequent element along `dim`, and its last index."""
    axis = _axis(input, dim, "mode")
    return _picked(input, axis, mode_place(ops.detach(input), axis), keepdim)


@composite(kinks="ties", samples="msort(randn(4)); msort(randn(3, 2))")
def msort(input: Any) -> Any:
    """The elements in ascending order along dimension 0."""
    return ops.movedim(sort(ops.movedim(input, 0, -1), -1)[0], -1, 0) if input.ndim else input * 1


# Quantiles -------------------------------------------------------------------------------------------

_INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def _ranks_and_weight(q: Any, counts: Any, interpolation: str) -> tuple[Any, Any, Any]:
    """Return the ranks below and above, and the latter's weight."""
    rank = q * (counts - 1)
    if interpolation == "lower":
        rank = ops.floor(rank)
    elif interpolation == "higher":
        rank = ops.ceil(rank)
    elif interpolation == "nearest":
        rank = ops.round(rank)
    below = ops.floor(rank)
    weight = ops.full_like(rank, 0.5) if interpolation == "midpoint" else rank - below
    return ops.to(below, np.dtype(np.int64)), ops.to(ops.ceil(rank), np.dtype(np.int64)), weight


def _quantile(name: str, input: Any, q: Any, dim: Any, keepdim: bool, interpolation: str) -> Any:
    skip = name == "nanquantile"
    if input.dtype.kind != "f":
        raise DtypeMismatch(f"{name} takes real floating numbers, not {input.dtype}")
    if interpolation not in _INTERPOLATIONS:
        raise ArgumentError(
            f"{name} has no interpolation {interpolation!r}", hint=f"one of {', '.join(_INTERPOLATIONS)}"
        )
    levels = q if hasattr(q, "dtype") else ops.full([], float(q), dtype=input.dtype)
    if levels.ndim > 1:
        raise ShapeMismatch(f"{name} takes a q of at most 1 dimension, not {levels.ndim}")
    shares = ops.detach(levels)
    if hasattr(shares, "__array__") and not all(0 <= share <= 1 for share in np.ravel(shares)):
        raise ArgumentError(f"{name} takes shares from 0 to 1 as q")
    several = ops.reshape(levels, (-1,))
    line = ops.reshape(input, (-1,)) if dim is None else ops.movedim(input, canonical_dim(dim, input.ndim), -1)
    line = ops.reshape(line, (1,)) if not line.ndim else line
    if 0 in line.shape:
        raise ShapeMismatch(f"{name}: there is no element in {list(input.shape)}")
    found = ops.movedim(_quantiles_of_levels(line, several, interpolation, skip), -1, 0)
    if keepdim:
        axis = None if dim is None else canonical_dim(dim, input.ndim)
        shape = [1 if axis is None or d == axis else n for d, n in enumerate(input.shape)]
        found = ops.reshape(found, (found.shape[0], *shape))
    return found if levels.ndim else ops.squeeze(found, 0)


def _quantiles_of_levels(line: Any, levels: Any, interpolation: str, skip: bool) -> Any:
    """Return the quantiles of these levels, along the last dimension."""
    ordered = sort(line, -1)[0]
    missing = ops.isnan(ops.detach(ordered))
    size = line.shape[-1]
    counts = ops.sum(ops.logical_not(missing), -1, True)
    if not skip:
        counts = ops.where(counts < size, size, counts)
    below, above, weight = _ranks_and_weight(levels, ops.to(counts, line.dtype), interpolation)
    spoilt = ops.any(missing, -1, True) & (not skip)
    places = (ops.where(spoilt, size - 1, ops.clamp(place, 0, size - 1)) for place in (below, above))
    low, high = (gather(ordered, -1, place) for place in places)  # a NaN stands last
    return ops.lerp(low, high, ops.where(spoilt, 0.0, weight))


_QUANTILES = """
    {}(randn(5), 0.3); {}(randn(2, 4), tensor([0.25, 0.6]), 1); {}(randn(2, 3), 0.5, dim=0, keepdim=True);
    {}(randn(4), 0.3, interpolation='midpoint'); {}(randn(4), 0.3, interpolation='nearest');
    {}(tensor([1.0, nan, 3.0]), 0.4)
"""


@composite(kinks="ties", dtypes={"input": FULL_REAL_FLOATING}, samples=_QUANTILES)
def quantile(
    input: Any, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Any:
    """The quantile `q` of the elements, interpolated; NaN if there is one."""
    return _quantile("quantile", input, q, dim, keepdim, interpolation)


@composite(kinks="ties", dtypes={"input": FULL_REAL_FLOATING}, samples=_QUANTILES)
def nanquantile(
    input: Any, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Any:
    """`quantile` of those elements that are numbers."""
    return _quantile("nanquantile", input, q, dim, keepdim, interpolation)
