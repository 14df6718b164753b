"""Assignment to slices, indices and masks; reductions by index."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from gradcheck.autograd import ops
from gradcheck.autograd.op import composite
from gradcheck.autograd.ops.common.dims import canonical_dim, require_integer
from gradcheck.autograd.ops.gather_scatter import gather, index_add, scatter, scatter_add
from gradcheck.autograd.ops.indexing import getitem, index_put
from gradcheck.errors import ArgumentError, DtypeMismatch, ShapeMismatch

_ALL = slice(None)

# Slices ----------------------------------------------------------------------------------------------


def _slice_of(input: Any, dim: int, start: Any, end: Any, step: int) -> tuple[Any, ...]:
    axis = canonical_dim(dim, input.ndim)
    if require_integer(step, "the step") < 1:
        raise ArgumentError(f"the step of a slice must be positive, not {step}")
    return (*[_ALL] * axis, slice(start, end, step))


def _written(input: Any, src: Any, index: tuple[Any, ...]) -> Any:
    """Return `input` with `src` at `[index]`, of distinct elements."""
    part = getitem(ops.detach(input), index)
    if tuple(part.shape) != tuple(src.shape):
        raise ShapeMismatch(f"what is written has shape {list(src.shape)}, where {list(part.shape)} is expected")
    kept = ops.index_adjoint(ops.ones_like(part), index, tuple(input.shape))
    return ops.where(kept == 0, input, ops.index_adjoint(ops.to(src, input.dtype), index, tuple(input.shape)))


@composite(samples="{}(randn(3, 4), randn(2, 4), start=1); {}(randn(3, 4), randn(3, 2), 1, 0, 4, 2)")
def slice_scatter(input: Any, src: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Any:
    """`input` with `src` written over the slice `start:end:step` of `dim`."""
    return _written(input, src, _slice_of(input, dim, start, end, step))


@composite(samples="{}(randn(3, 4), randn(4), 0, 1); randn(3, 4).{}(randn(3), -1, -1)")
def select_scatter(input: Any, src: Any, dim: int, index: int) -> Any:
    """`input` with `src` written over the slice at `index` of `dim`."""
    axis = canonical_dim(dim, input.ndim)
    return _written(input, src, (*[_ALL] * axis, require_integer(index, "an index")))


@composite(
    name="slice",
    torch="ops.aten.slice",
    method=False,
    samples="torch.slice(randn(4, 3), 0, 1, 3); torch.slice(randn(4, 3), 1, None, None, 2)",
)
def slice_(input: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Any:
    """The slice `start:end:step` of `dim`."""
    return getitem(input, _slice_of(input, dim, start, end, step))


# Places along a dimension ----------------------------------------------------------------------------


def _at_least_1d(input: Any) -> Any:
    return input if input.ndim else ops.reshape(input, (1,))


def _back(found: Any, input: Any) -> Any:
    return found if input.ndim else ops.reshape(found, ())


def _places(input: Any, dim: int, index: Any) -> tuple[Any, ...]:
    return (*[_ALL] * canonical_dim(dim, input.ndim), _at_least_1d(index))


@composite(
    kinks="repeated indices",
    samples="{}(randn(3, 4), 0, tensor([0, 2]), randn(2, 4)); randn(3, 4).{}(1, tensor([1]), randn(3, 1))",
)
def index_copy(input: Any, dim: int, index: Any, source: Any) -> Any:
    """`input` with slices of `source` written at those the index names."""
    line, src = _at_least_1d(input), _at_least_1d(source)
    if src.dtype != line.dtype:
        raise DtypeMismatch(f"index_copy: a source of {src.dtype} for a tensor of {line.dtype}")
    axis, picked = canonical_dim(dim, line.ndim), _at_least_1d(index)
    expected = [picked.shape[0] if d == axis else n for d, n in enumerate(line.shape)]
    if list(src.shape) != expected:
        raise ShapeMismatch(f"index_copy: a source of shape {list(src.shape)}, where {expected} is expected")
    shape = [-1 if d == axis else 1 for d in range(line.ndim)]
    where = ops.expand(ops.reshape(picked, [picked.shape[0] if n < 0 else n for n in shape]), tuple(src.shape))
    return _back(scatter(line, axis, where, src), input)


@composite(samples="{}(randn(3, 4), 0, tensor([0, 2]), 1.5); randn(3, 4).{}(1, tensor([1, 1]), randn(()))")
def index_fill(input: Any, dim: int, index: Any, value: Any) -> Any:
    """`input` with a number written to the slices that the index names."""
    line, places, number = _at_least_1d(input), _at_least_1d(index), _one_number("index_fill", value, input.dtype)
    axis = canonical_dim(dim, line.ndim)
    places = ops.where(places < 0, places + line.shape[axis], places)
    shape = [places.shape[0] if d == axis else n for d, n in enumerate(line.shape)]
    marks = index_add(ops.zeros_like(ops.detach(line)), dim, places, ops.ones(shape, dtype=line.dtype))
    return _back(ops.where(marks == 0, line, number), input)


# Anywhere --------------------------------------------------------------------------------------------


@composite(
    method=True,
    samples="""
        {}(randn(2, 3), tensor([0, -1]), randn(2)); {}(randn(2, 3), tensor([[1, 1]]), randn(1, 2), accumulate=True)
    """,
    kinks="repeated indices, without accumulate",
)
def put(input: Any, index: Any, source: Any, accumulate: bool = False) -> Any:
    """`input` with `source` written or added in row-major order."""
    if index.dtype.kind not in "iu":
        raise DtypeMismatch(f"put takes an index of integers, not of {index.dtype}")
    if prod(index.shape) != prod(source.shape):
        raise ShapeMismatch(f"put: {prod(source.shape)} elements for {prod(index.shape)} places")
    flat, values = ops.reshape(input, (prod(input.shape),)), ops.reshape(source, (prod(source.shape),))
    found = index_put(flat, (ops.reshape(index, (prod(index.shape),)),), values, accumulate)
    return ops.reshape(found, tuple(input.shape))


@composite(
    samples="""
        {}(randn(2, 3), tensor([[True, False, True], [False, True, True]]), randn(5));
        {}(randn(2, 3), tensor([True, False, True]), randn(2, 2))
    """
)
def masked_scatter(input: Any, mask: Any, source: Any) -> Any:
    """`input` with elements of `source`, in order, where `mask` is true."""
    if mask.dtype.kind != "b":
        raise DtypeMismatch(f"masked_scatter takes a mask of booleans, not of {mask.dtype}")
    if source.dtype != input.dtype:
        raise DtypeMismatch(f"masked_scatter: a source of {source.dtype} for a tensor of {input.dtype}")
    wide = np.broadcast_shapes(tuple(input.shape), tuple(mask.shape))
    whole, spread = ops.expand(input, wide), ops.expand(mask, wide)
    flat, size = ops.reshape(spread, (prod(wide),)), prod(source.shape)
    if not prod(wide):
        return whole
    order = ops.cumsum(flat, 0) - 1
    if int(np.asarray(ops.detach(order))[-1]) >= size:
        raise ShapeMismatch(f"masked_scatter: {size} elements for more places")
    if not size:
        return whole
    picked = getitem(ops.reshape(source, (size,)), ops.clamp(order, 0, size - 1))
    return ops.where(spread, ops.reshape(picked, wide), whole)


@composite(samples="fill(randn(2, 3), 1.5); fill(randn(2), randn(()))")
def fill(input: Any, value: Any) -> Any:
    """One number all over, in the shape of `input`."""
    return ops.where(ops.ones_like(ops.detach(input)) == 0, input, _one_number("fill", value, input.dtype))


def _one_number(name: str, value: Any, dtype: Any) -> Any:
    """Return a number, or a 0-d tensor cast to `dtype`. Raises ShapeMismatch."""
    if hasattr(value, "ndim") and value.ndim:
        raise ShapeMismatch(f"{name} takes one number, not a tensor of shape {list(value.shape)}")
    return ops.to(value, dtype) if hasattr(value, "dtype") else value


# What falls onto one place, put together ------------------------------------------------------------

_REDUCTIONS = ("sum", "prod", "mean", "amax", "amin")


def _reduced_at(line: Any, axis: int, where: Any, src: Any, reduce: str, include_self: bool) -> Any:
    """Reduce the elements that `where` sends to one place along `axis`."""
    ones = ops.ones_like(ops.detach(src))
    counts = scatter_add(ops.zeros_like(ops.detach(line)), axis, where, ones)
    touched = counts > 0
    own = line if include_self else ops.where(touched, _NEUTRAL.get(reduce, 0.0), line)
    if reduce in ("sum", "mean"):
        total = scatter_add(own, axis, where, src)
        if reduce == "sum":
            return total
        parts = counts + 1 if include_self else ops.where(touched, counts, 1)
        is_whole = line.dtype.kind not in "fcV"
        return ops.div(total, parts, rounding_mode="floor") if is_whole else ops.where(touched, total / parts, total)
    layers = _collision_layers(own, axis, where, src, _NEUTRAL[reduce])
    return {"prod": ops.prod, "amax": ops.amax, "amin": ops.amin}[reduce](layers, 0)


_NEUTRAL = {"prod": 1.0, "amax": -np.inf, "amin": np.inf}


def _collision_ranks(index: Any, axis: int) -> Any:
    """Count, per element, earlier ones that go to the same place."""
    if hasattr(index, "data") and not isinstance(index, np.ndarray):
        index = index.data
    lines = np.moveaxis(np.asarray(index), axis, -1)
    same = lines[..., :, None] == lines[..., None, :]
    return np.moveaxis(np.tril(same, -1).sum(-1), -1, axis)


def _collision_layers(line: Any, axis: int, where: Any, src: Any, fill: float) -> Any:
    """Stack `line` and layers of the elements that fall onto each place."""
    ranks = _collision_ranks(where, axis)
    depth = int(ranks.max()) + 1 if ranks.size else 0
    shape = (depth, *line.shape)
    grid = list(np.ogrid[tuple(slice(n) for n in where.shape)])
    grid[axis] = np.asarray(where.data if not isinstance(where, np.ndarray) else where)
    index = (ranks, *grid)
    part = src[tuple(slice(n) for n in where.shape)] if tuple(src.shape) != tuple(where.shape) else src
    taken = np.zeros(shape, bool)
    taken[index] = True
    spread = ops.index_adjoint(part, tuple(np.broadcast_arrays(*index)), shape)
    return ops.cat([ops.unsqueeze(line, 0), ops.where(taken, spread, fill)], 0)


def _check_reduce(name: str, reduce: str, allowed: tuple[str, ...]) -> None:
    if reduce not in allowed:
        raise ArgumentError(f"{name} has no reduction {reduce!r}", hint=f"one of {', '.join(allowed)}")


_I = "tensor([[0, 2, 0], [1, 1, 0]])"


@composite(
    kinks="ties",
    samples=f"""
        {{}}(randn(3, 3), 0, {_I}, randn(2, 3), 'sum'); {{}}(randn(3, 3), 0, {_I}, randn(2, 3), 'prod');
        {{}}(randn(3, 3), 1, {_I}, randn(2, 3), 'mean', include_self=False);
        {{}}(randn(3, 3), 0, {_I}, randn(2, 3), 'amax', include_self=False);
        {{}}(randn(3, 3), 0, {_I}, randn(2, 3), 'amin')
    """,
)
def scatter_reduce(input: Any, dim: int, index: Any, src: Any, reduce: str, *, include_self: bool = True) -> Any:
    """`input` reduced with the elements that `index` sends to each place."""
    _check_reduce("scatter_reduce", reduce, _REDUCTIONS)
    line, where, values = _at_least_1d(input), _at_least_1d(index), _at_least_1d(src)
    axis = canonical_dim(dim, line.ndim)
    gather(ops.zeros_like(ops.detach(line)), axis, ops.clamp(ops.detach(where), 0, 0))  # checks shapes as torch does
    return _back(_reduced_at(line, axis, where, values, reduce, include_self), input)


@composite(
    kinks="ties",
    samples="""
        {}(randn(3, 4), 0, tensor([0, 2, 0]), randn(3, 4), 'prod');
        {}(randn(3, 4), 1, tensor([1, 1]), randn(3, 2), 'mean', include_self=False);
        {}(randn(3, 4), 0, tensor([0, 2, 0]), randn(3, 4), 'amax'); {}(randn(3), 0, tensor([0, 0]), randn(2), 'amin')
    """,
)
def index_reduce(input: Any, dim: int, index: Any, source: Any, reduce: str, *, include_self: bool = True) -> Any:
    """`input` reduced with the slices that `index` sends to each place."""
    _check_reduce("index_reduce", reduce, _REDUCTIONS[1:])
    line, picked, values = _at_least_1d(input), _at_least_1d(index), _at_least_1d(source)
    axis = canonical_dim(dim, line.ndim)
    rest, others = ([n for d, n in enumerate(one.shape) if d != axis] for one in (line, values))
    if rest != others or source.ndim > input.ndim:
        raise ShapeMismatch(f"index_reduce: a source of {list(source.shape)} for {list(input.shape)}")
    shape = [picked.shape[0] if d == axis else 1 for d in range(line.ndim)]
    where = ops.expand(ops.reshape(picked, shape), tuple(values.shape))
    return _back(_reduced_at(line, axis, where, values, reduce, include_self), input)
