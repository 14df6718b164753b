"""Images and volumes sampled at points of a grid, and affine grids.

Source: Jaderberg and others, Spatial transformer networks, 2015. A composition: the place of a point is arithmetic, its
pixel an index.
"""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Any

import numpy as np

from gradcheck.autograd import ops
from gradcheck.autograd.op import composite
from gradcheck.autograd.ops.common.dims import require_integer
from gradcheck.autograd.ops.common.nn_functional import nn_functional_op, require_one_float_dtype
from gradcheck.autograd.ops.indexing import getitem
from gradcheck.errors import ArgumentError, ShapeMismatch

_MODES = ("bilinear", "nearest", "bicubic")
_PADDINGS = ("zeros", "border", "reflection")

# Where a place falls ---------------------------------------------------------------------------------


def _pixels(grid: Any, size: int, align: bool) -> Any:
    """Map -1 … 1 to 0 … size - 1, or to the outer edges of the pixels."""
    return (grid + 1) / 2 * (size - 1) if align else ((grid + 1) * size - 1) / 2


def _reflect_position(at: Any, low: float, high: float) -> Any:
    """Reflect positions into `low` … `high`."""
    span = high - low
    if span <= 0:
        return at * 0
    away = ops.abs(at - low)
    turns = ops.floor(ops.detach(away) / span)
    rest = away - turns * span
    even = ops.remainder(turns, 2) == 0
    return ops.where(even, rest + low, span - rest + low)


def _pad_position(at: Any, size: int, padding: str, align: bool) -> Any:
    if padding == "reflection":
        at = _reflect_position(at, 0.0, size - 1.0) if align else _reflect_position(at, -0.5, size - 0.5)
    return at if padding == "zeros" else ops.clamp(at, 0, size - 1)


# What stands there -----------------------------------------------------------------------------------


def _gather_pixels(input: Any, places: list[Any]) -> Any:
    """Return (N, C, *out), the elements at whole places; zeros outside."""
    batch = np.arange(input.shape[0]).reshape(-1, *[1] * (places[0].ndim - 1))
    kept: Any = True
    index = []
    for place, size in zip(places, input.shape[2:], strict=True):
        whole = ops.detach(place)
        kept = (whole >= 0) & (whole <= int(size) - 1) & kept
        index.append(ops.to(ops.clamp(ops.nan_to_num(whole), 0, int(size) - 1), np.dtype(np.int64)))
    found = getitem(ops.movedim(input, 1, -1), (batch, *index))
    return ops.where(ops.unsqueeze(kept, 1), ops.movedim(found, -1, 1), 0.0)


def _linear(input: Any, at: list[Any]) -> Any:
    low = [ops.floor(ops.detach(place)) for place in at]
    shares = [place - whole for place, whole in zip(at, low, strict=True)]
    total: Any = 0
    for corner in product((0, 1), repeat=len(at)):
        weight: Any = 1
        for up, share in zip(corner, shares, strict=True):
            weight = weight * (share if up else 1 - share)
        places = [whole + up for whole, up in zip(low, corner, strict=True)]
        total = total + _gather_pixels(input, places) * ops.unsqueeze(weight, 1)
    return total


def _cubic_weights(t: Any) -> list[Any]:
    """Return Keys' filter (a = -0.75) for the neighbours -1, 0, 1 and 2."""
    a = -0.75

    def near(x: Any) -> Any:
        return ((a + 2) * x - (a + 3)) * x * x + 1

    def far(x: Any) -> Any:
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a

    return [far(t + 1), near(t), near(1 - t), far(2 - t)]


def _cubic(input: Any, at: list[Any], padding: str, align: bool) -> Any:
    low = [ops.floor(ops.detach(place)) for place in at]
    weights = [_cubic_weights(place - whole) for place, whole in zip(at, low, strict=True)]
    total: Any = 0
    for i, j in product(range(4), repeat=2):
        rows, columns = (
            _pad_position(whole + step - 1, int(size), padding, align)
            for whole, step, size in zip(low, (i, j), input.shape[2:], strict=True)
        )
        total = total + _gather_pixels(input, [rows, columns]) * ops.unsqueeze(weights[0][i] * weights[1][j], 1)
    return total


def _sampled(input: Any, grid: Any, mode: str, padding: str, align: bool) -> Any:
    """Sample at `grid`, (N, *out, dims) with x first."""
    sizes = [int(n) for n in input.shape[2:]]
    dims = len(sizes)
    require_one_float_dtype("grid_sample", input, grid)
    if grid.ndim != dims + 2 or grid.shape[-1] != dims or grid.shape[0] != input.shape[0] or 0 in sizes:
        raise ShapeMismatch(f"grid_sample: a grid of {list(grid.shape)} for an input of {list(input.shape)}")
    at = [_pixels(grid[..., dims - 1 - axis], size, align) for axis, size in enumerate(sizes)]
    if mode == "bicubic":
        if dims != 2:
            raise ShapeMismatch("grid_sample: bicubic is for images alone")
        return _cubic(input, at, padding, align)
    at = [_pad_position(place, size, padding, align) for place, size in zip(at, sizes, strict=True)]
    if mode == "nearest":
        return _gather_pixels(input, [ops.round(ops.detach(place)) for place in at]) + 0 * ops.sum(grid)
    return _linear(input, at)


def _elements(input: Any, grid: Any, *settings: Any) -> int:
    return prod(map(int, grid.shape[:-1])) * int(input.shape[1])


_KINKS = "whole pixels, and the edges"


@nn_functional_op(
    kinks=_KINKS,
    elements=_elements,
    samples="""
        {}(randn(1, 2, 3, 4), uniform(-0.9, 0.9, [1, 2, 2, 2]), align_corners=False);
        {}(randn(1, 1, 3, 4), uniform(-1.5, 1.5, [1, 2, 2, 2]), 'bilinear', 'reflection', True);
        {}(randn(1, 1, 3, 4), uniform(-1.5, 1.5, [1, 2, 1, 2]), 'bicubic', 'border', False);
        {}(randn(1, 1, 3, 4), uniform(-0.9, 0.9, [1, 2, 1, 2]), mode='nearest', align_corners=False)
    """,
)
def grid_sample(
    input: Any, grid: Any, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool | None = None
) -> Any:
    """(N, C, h, w) or (N, C, d, h, w) at points from -1 to 1, x first."""
    if mode not in _MODES or padding_mode not in _PADDINGS:
        raise ArgumentError(f"grid_sample has no mode {mode!r} with padding {padding_mode!r}")
    if input.ndim not in (4, 5):
        raise ShapeMismatch(f"grid_sample takes (N, C, h, w) or (N, C, d, h, w), not {list(input.shape)}")
    return _sampled(input, grid, mode, padding_mode, bool(align_corners))


def _define_grid_sampler(dims: int, samples: str) -> None:
    doc = f"`grid_sample` over {dims} dimensions; modes and paddings by number, as `grid_sample` lists them."

    @composite(name=f"grid_sampler_{dims}d", doc=doc, method=False, kinks=_KINKS, elements=_elements, samples=samples)
    def sampler(input: Any, grid: Any, interpolation_mode: int, padding_mode: int, align_corners: bool) -> Any:
        if input.ndim != dims + 2:
            raise ShapeMismatch(f"grid_sampler_{dims}d takes {dims + 2} dimensions, not {input.ndim}")
        if interpolation_mode not in range(3) or padding_mode not in range(3):
            raise ArgumentError(f"grid_sampler_{dims}d: modes and paddings are 0, 1 and 2")
        return _sampled(input, grid, _MODES[interpolation_mode], _PADDINGS[padding_mode], align_corners)


_define_grid_sampler(2, "{}(randn(1, 2, 3, 4), uniform(-0.9, 0.9, [1, 2, 2, 2]), 0, 0, False)")
_define_grid_sampler(3, "{}(randn(1, 1, 2, 3, 2), uniform(-0.9, 0.9, [1, 1, 2, 1, 3]), 0, 1, True)")


@composite(
    name="grid_sampler",
    method=False,
    kinks=_KINKS,
    elements=_elements,
    samples="""
        {}(randn(1, 2, 3, 4), uniform(-0.9, 0.9, [1, 2, 2, 2]), 0, 0, False);
        {}(randn(1, 1, 2, 3, 2), uniform(-0.9, 0.9, [1, 1, 2, 1, 3]), 0, 1, True)
    """,
)
def grid_sampler(input: Any, grid: Any, interpolation_mode: int, padding_mode: int, align_corners: bool) -> Any:
    """`grid_sample`, with its mode and padding by number, as it lists them."""
    by_dimensions = "grid_sampler_3d" if input.ndim == 5 else "grid_sampler_2d"
    return getattr(ops, by_dimensions)(input, grid, interpolation_mode, padding_mode, align_corners)


# A grid ----------------------------------------------------------------------------------------------


def _affine_sizes(theta: Any, size: Any) -> list[int]:
    """Return the sizes, checked against `theta`."""
    sizes = [require_integer(n, "a size") for n in size]
    dims = len(sizes) - 2
    if dims not in (2, 3) or min(sizes) < 1:
        raise ShapeMismatch(f"affine_grid takes sizes (N, C, h, w) or (N, C, d, h, w), not {sizes}")
    if tuple(theta.shape) != (sizes[0], dims, dims + 1):
        raise ShapeMismatch(f"affine_grid: maps of {list(theta.shape)} for sizes {sizes}")
    require_one_float_dtype("affine_grid", theta)
    return sizes


@nn_functional_op(
    elements=lambda theta, size, align_corners: prod(map(int, size[2:])) * int(size[0]) * (len(size) - 2),
    samples="""
        {}(randn(2, 2, 3), (2, 1, 3, 4), align_corners=False); {}(randn(1, 2, 3), [1, 2, 1, 3], True);
        {}(randn(1, 3, 4), [1, 1, 2, 3, 2], False)
    """,
)
def affine_grid(theta: Any, size: Any, align_corners: bool | None = None) -> Any:
    """The grid (N, *out, dims) of an affine map `theta` for `size`."""
    sizes = _affine_sizes(theta, size)
    lines = []
    for count in reversed(sizes[2:]):
        line = np.linspace(-1, 1, count) if count > 1 else np.zeros(1)
        lines.append(line if align_corners or count == 1 else line * (count - 1) / count)
    axes = np.meshgrid(*reversed(lines), indexing="ij")[::-1]
    places = np.stack([*axes, np.ones_like(axes[0])], -1).reshape(-1, len(lines) + 1)
    found = places.astype(theta.dtype) @ ops.transpose(theta, 1, 2)
    return ops.reshape(found, (sizes[0], *sizes[2:], len(lines)))
