"""Running extremes, `logcumsumexp`, differences and trapezoids."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcheck.autograd import ops
from gradcheck.autograd.op import composite, op
from gradcheck.autograd.ops.common.arguments import refuse_complex
from gradcheck.autograd.ops.common.dims import canonical_dim, require_integer
from gradcheck.autograd.ops.common.nn_functional import nn_functional_op
from gradcheck.autograd.ops.cumulative_sums import cumsum
from gradcheck.autograd.ops.gather_scatter import gather
from gradcheck.autograd.ops.indexing import narrow
from gradcheck.errors import ArgumentError, DtypeMismatch, IndexOutOfRange, ShapeMismatch

# Running extremes ------------------------------------------------------------------------------------


def _running_place(input: Any, dim: int, larger: bool) -> Any:
    """Return the last index of the running extreme; NaN beats all."""
    axis = canonical_dim(dim, input.ndim)
    if not input.size or not input.ndim:
        return np.zeros(input.shape, np.int64)
    run = (np.maximum if larger else np.minimum).accumulate(input, axis=axis)
    shape = [1] * input.ndim
    shape[axis] = input.shape[axis]
    here = np.arange(input.shape[axis]).reshape(shape)
    is_extreme = (input == run) | (np.isnan(input) & np.isnan(run))
    return np.maximum.accumulate(np.where(is_extreme, here, 0), axis=axis).astype(np.int64)


@op(torch="", method=False, samples="running_place(randn(5), 0, True); running_place(randn(2, 3), 1, False)")
def running_place(input: Any, dim: int, larger: bool) -> Any:
    """The last index of the largest (or smallest) element so far."""
    refuse_complex("cummax", input.dtype)
    return _running_place(input, dim, larger)


def _running_extreme(input: Any, dim: int, larger: bool) -> tuple[Any, Any]:
    places = running_place(ops.detach(input), dim, larger)
    return gather(input, canonical_dim(dim, input.ndim), places), places


_RUNNING = "{}(randn(5), 0); {}(randn(2, 4), dim=-1)[0]; {}(tensor([1.0, 3.0, 3.0, nan, 2.0]), 0); {}(randn(()), 0)"


@composite(kinks="ties", samples=_RUNNING)
def cummax(input: Any, dim: int) -> Any:
    """The largest element so far, and its last index."""
    return _running_extreme(input, dim, True)


@composite(kinks="ties", samples=_RUNNING)
def cummin(input: Any, dim: int) -> Any:
    """The smallest element so far, and its last index."""
    return _running_extreme(input, dim, False)


def _logcumsumexp_rule(g: Any, y: Any, x: Any, dim: int) -> Any:
    """The sum of `g[j] exp(x[i] - y[j])` over j from i on."""
    if not x.ndim:
        return g
    axis = canonical_dim(dim, x.ndim)
    last = x.ndim + 1
    behind = ops.unsqueeze(ops.movedim(x, axis, -1), -1) - ops.unsqueeze(ops.movedim(y, axis, -1), -2)
    shares = ops.where(ops.triu(ops.ones_like(ops.detach(ops.real(behind)))) > 0, ops.exp(behind), 0)
    return ops.movedim(ops.sum(shares * ops.unsqueeze(ops.movedim(g, axis, -1), -2), last - 1), -1, axis)


@op(
    _logcumsumexp_rule,
    analytic=False,
    samples="{}(randn(5), 0); {}(randn(2, 3), 1); {}(randn(()), 0); {}(10.0 + randn(3), dim=0)",
)
def logcumsumexp(input: Any, dim: int) -> Any:
    """The logarithm of the running sum of exponentials."""
    if input.dtype.kind in "biu":
        raise DtypeMismatch(f"logcumsumexp takes floating numbers, not {input.dtype}")
    axis = canonical_dim(dim, input.ndim)
    if not input.ndim:
        return np.array(input)
    if input.dtype.kind == "c":
        top = np.max(input.real, axis=axis, keepdims=True, initial=-np.inf)
        return np.log(np.cumsum(np.exp(input - top), axis=axis)) + top
    return np.logaddexp.accumulate(input, axis=axis) if input.size else np.array(input)


# Differences -----------------------------------------------------------------------------------------


@composite(
    samples="""
        {}(randn(5)); {}(randn(2, 4), n=2); {}(randn(2, 3), 1, 0); {}(randn(3), prepend=randn(1), append=randn(2));
        {}(tensor([True, False, False]))
    """
)
def diff(input: Any, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """Each element less the one before it along `dim`, `n` times over."""
    if not input.ndim:
        raise ShapeMismatch("diff takes at least 1 dimension, not 0")
    if require_integer(n, "n") < 0:
        raise ArgumentError(f"diff takes an n of at least 0, not {n}")
    axis = canonical_dim(dim, input.ndim)
    parts = [part for part in (prepend, input, append) if part is not None]
    found = ops.cat(parts, axis) if len(parts) > 1 and n else input
    for _ in range(min(n, found.shape[axis])):
        rest = found.shape[axis] - 1
        later, earlier = narrow(found, axis, 1, rest), narrow(found, axis, 0, rest)
        found = ops.logical_xor(later, earlier) if found.dtype.kind == "b" else later - earlier
    return found


def _slopes(f: Any, axis: int, spacing: Any, edge_order: int) -> Any:
    """Return slopes, one-sided at both ends; `spacing` may be a tensor."""
    size = f.shape[axis]
    if size < edge_order + 1:
        raise ShapeMismatch(f"gradient of order {edge_order} at the edges takes more than {size} elements")
    shape = [1] * f.ndim
    shape[axis] = -1
    steps = ops.reshape(diff(spacing), shape) if hasattr(spacing, "dtype") else None

    def at(start: int, length: int) -> Any:
        return narrow(f, axis, start, length)

    def step(start: int, length: int) -> Any:
        return spacing if steps is None else narrow(steps, axis, start, length)

    h, k = step(0, size - 2), step(1, size - 2)
    inside = [_inner(at(0, size - 2), at(1, size - 2), at(2, size - 2), h, k)] if size > 2 else []
    if edge_order == 1:
        first, last = (at(1, 1) - at(0, 1)) / step(0, 1), (at(size - 1, 1) - at(size - 2, 1)) / step(size - 2, 1)
    else:
        first = _outer(at(0, 1), at(1, 1), at(2, 1), step(0, 1), step(1, 1))
        last = -_outer(at(size - 1, 1), at(size - 2, 1), at(size - 3, 1), step(size - 2, 1), step(size - 3, 1))
    return ops.cat([first, *inside, last], axis)


def _inner(a: Any, b: Any, c: Any, h: Any, k: Any) -> Any:
    return (c * (h * h) - a * (k * k) + b * (k * k - h * h)) / (h * k * (h + k))


def _outer(a: Any, b: Any, c: Any, h: Any, k: Any) -> Any:
    """Return the slope at `a` of the parabola through three points."""
    return -a * ((h + h + k) / (h * (h + k))) + b * ((h + k) / (h * k)) - c * (h / (k * (h + k)))


@nn_functional_op(
    "{}",
    samples="""
        gradient(randn(5)); gradient(randn(4, 3), spacing=2.0, dim=0); gradient(randn(4, 3), edge_order=2);
        gradient(randn(4), spacing=(detach(tensor([0.0, 1.0, 3.0, 4.5])),)); gradient(randn(4, 3), spacing=[1.0, 0.5])
    """,
)
def gradient(input: Any, *, spacing: Any = None, dim: Any = None, edge_order: int = 1) -> Any:
    """Slopes along each dimension, estimated from neighbours."""
    dims = list(range(input.ndim)) if dim is None else list(dim) if isinstance(dim, (tuple, list)) else [dim]
    spacing = 1 if spacing is None else spacing
    apart = list(spacing) if isinstance(spacing, (tuple, list)) else [spacing] * len(dims)
    if len(apart) != len(dims):
        raise ArgumentError(f"gradient: {len(apart)} spacings for {len(dims)} dimensions")
    if edge_order not in (1, 2):
        raise ArgumentError(f"gradient takes an edge_order of 1 or 2, not {edge_order}")
    pairs = zip(dims, apart, strict=True)
    return tuple(_slopes(input, canonical_dim(axis, input.ndim), one, edge_order) for axis, one in pairs)


# Trapezoids ------------------------------------------------------------------------------------------


def _areas(y: Any, x: Any, dx: Any, dim: int, name: str) -> tuple[Any, int]:
    if not y.ndim:
        raise IndexOutOfRange(f"{name} takes at least 1 dimension, not 0")
    axis = canonical_dim(dim, y.ndim)
    rest = y.shape[axis] - 1
    if rest < 0:
        return y, axis
    pairs = narrow(y, axis, 1, rest) + narrow(y, axis, 0, rest)
    if x is None:
        return pairs * (dx / 2), axis
    if x.ndim == 1:
        if x.shape[0] != y.shape[axis]:
            raise ShapeMismatch(f"{name}: {x.shape[0]} places for {y.shape[axis]} values")
        x = ops.reshape(x, [x.shape[0] if d == axis else 1 for d in range(y.ndim)])
    elif x.ndim < y.ndim:
        x = ops.reshape(x, (*[1] * (y.ndim - x.ndim), *x.shape))
    width = diff(x, 1, dim)
    return pairs * width / 2, axis if x.ndim <= y.ndim else canonical_dim(dim, x.ndim)


_AREAS = "{}(randn(4)); {}(randn(2, 3), dx=0.5, dim=0); {}(randn(2, 3), randn(3)); {}(randn(2, 3), randn(2, 3), dim=0)"


@composite(aliases=("trapz",), method=False, samples=_AREAS)
def trapezoid(y: Any, x: Any = None, *, dx: Any = 1, dim: int = -1) -> Any:
    """The area below the polygon through `y`, at the places `x` or `dx` apart."""
    areas, axis = _areas(y, x, dx, dim, "trapezoid")
    return ops.sum(areas, axis)


@composite(method=False, samples=_AREAS)
def cumulative_trapezoid(y: Any, x: Any = None, *, dx: Any = 1, dim: int = -1) -> Any:
    """The areas below the polygon through `y`, up to each place but the first."""
    areas, axis = _areas(y, x, dx, dim, "cumulative_trapezoid")
    return cumsum(areas, axis)
