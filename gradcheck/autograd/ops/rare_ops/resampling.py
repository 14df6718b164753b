"""Resampling of images: `interpolate`, its older names, adaptive means.

Each is a product with a matrix of weights along each dimension, so all are linear and need no rule. Pixel positions are
torch's; cubic filters: Keys, Cubic convolution interpolation for digital image processing, 1981; `antialias` widens
filters by the scale, as in Pillow.
"""

from __future__ import annotations

from collections.abc import Callable
from math import floor, prod
from typing import Any

import numpy as np

from gradcheck.autograd import ops
from gradcheck.autograd.ops.common.dims import require_integer
from gradcheck.autograd.ops.common.nn_functional import nn_functional_op
from gradcheck.errors import ArgumentError, ShapeMismatch

# Matrices of weights: output by input ----------------------------------------------------------------


def _nearest(size: int, out: int, scale: float, exact: bool) -> np.ndarray:
    """Return weights, with positions in single precision as in torch."""
    places = np.arange(out, dtype=np.float32) + np.float32(0.5 if exact else 0)
    found = np.floor(places * np.float32(scale)).astype(np.int64)
    weights = np.zeros((out, size))
    weights[np.arange(out), np.minimum(found, size - 1)] = 1
    return weights


def _centers(size: int, out: int, scale: float, align: bool) -> np.ndarray:
    if align:
        return np.arange(out) * ((size - 1) / (out - 1) if out > 1 else 0.0)
    return scale * (np.arange(out) + 0.5) - 0.5


def _linear(size: int, out: int, scale: float, align: bool) -> np.ndarray:
    """torch keeps pixels if their number stays, whatever the scale."""
    if out == size:
        return np.eye(size)
    at = np.maximum(_centers(size, out, scale, align), 0)
    low = np.minimum(at.astype(np.int64), size - 1)
    share = np.clip(at - low, 0, 1)
    weights = np.zeros((out, size))
    np.add.at(weights, (np.arange(out), low), 1 - share)
    np.add.at(weights, (np.arange(out), np.minimum(low + 1, size - 1)), share)
    return weights


def _cubic_filter(x: Any, a: float) -> Any:
    """Return the cubic filter, 2 wide on either side."""
    x = np.abs(x)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((x - 5) * x + 8) * x * a - 4 * a
    return np.where(x <= 1, near, np.where(x < 2, far, 0))


def _cubic(size: int, out: int, scale: float, align: bool) -> np.ndarray:
    at = _centers(size, out, scale, align)
    low = np.floor(at)
    weights = np.zeros((out, size))
    for offset in (-1, 0, 1, 2):
        place = np.clip(low + offset, 0, size - 1).astype(np.int64)
        np.add.at(weights, (np.arange(out), place), _cubic_filter(at - low - offset, -0.75))
    return weights


def _antialias_weights(size: int, out: int, scale: float, align: bool, cubic: bool) -> np.ndarray:
    """Return a filter at least as wide as an output pixel, of sum 1."""
    if align:
        scale = (size - 1) / (out - 1) if out > 1 else 0.0
    wide = max(scale, 1.0)
    reach = (2 if cubic else 1) * wide
    weights = np.zeros((out, size))
    for row in range(out):
        center = scale * (row + 0.5)
        first, last = max(int(center - reach + 0.5), 0), min(int(center + reach + 0.5), size)
        x = (np.arange(first, last) - center + 0.5) / wide
        values = _cubic_filter(x, -0.5) if cubic else np.maximum(1 - np.abs(x), 0)
        weights[row, first:last] = values / values.sum()
    return weights


def _mean_weights(size: int, out: int) -> np.ndarray:
    """Each output is the mean of the inputs that it covers."""
    weights = np.zeros((out, size))
    for row in range(out):
        first, last = row * size // out, -(-(row + 1) * size // out)
        weights[row, first:last] = 1 / (last - first)
    return weights


def _apply_along_dims(input: Any, matrices: list[np.ndarray]) -> Any:
    """Apply each matrix along one of the last dimensions."""
    first = input.ndim - len(matrices)
    for axis, weights in enumerate(matrices, first):
        line = ops.movedim(input, axis, -1)
        input = ops.movedim(line @ weights.T.astype(input.dtype), -1, axis)
    return input


# interpolate -----------------------------------------------------------------------------------------

#: By mode, the numbers of spatial dimensions.
_DIMS = {
    "nearest": (1, 2, 3), "nearest-exact": (1, 2, 3), "area": (1, 2, 3), "linear": (1,), "bilinear": (2,),
    "bicubic": (2,), "trilinear": (3,),
}  # fmt: skip


def _sizes(input: Any, size: Any, scale_factor: Any, recompute: Any) -> tuple[list[int], list[float]]:
    """Return output sizes, and input pixels per output pixel."""
    spatial = [int(n) for n in input.shape[2:]]
    if (size is None) == (scale_factor is None):
        raise ArgumentError("interpolate takes either size or scale_factor")
    given = size if size is not None else scale_factor
    listed = list(given) if isinstance(given, (tuple, list)) else [given] * len(spatial)
    if len(listed) != len(spatial):
        raise ShapeMismatch(f"interpolate: {len(listed)} sizes for {len(spatial)} dimensions")
    if size is not None:
        outs = [require_integer(n, "a size") for n in listed]
    else:
        outs = [floor(n * factor) for n, factor in zip(spatial, listed, strict=True)]
    if any(out < 1 for out in outs) or any(n < 1 for n in spatial):
        raise ShapeMismatch(f"interpolate: from {spatial} to {outs}")
    if scale_factor is None or recompute:
        return outs, [n / out for n, out in zip(spatial, outs, strict=True)]
    return outs, [1 / factor for factor in listed]


def _weights(mode: str, align: bool, antialias: bool) -> Callable[[int, int, float], np.ndarray]:
    if mode == "area":
        return lambda size, out, scale: _mean_weights(size, out)
    if mode.startswith("nearest"):
        return lambda size, out, scale: _nearest(size, out, scale, mode == "nearest-exact")
    if antialias:
        return lambda size, out, scale: _antialias_weights(size, out, scale, align, mode == "bicubic")
    return lambda size, out, scale: (_cubic if mode == "bicubic" else _linear)(size, out, scale, align)


def _elements(input: Any, size: Any = None, scale_factor: Any = None, *settings: Any) -> int:
    outs, _ = _sizes(input, size, scale_factor, None)
    spatial = [int(n) for n in input.shape[2:]]
    weights = max(out * n for out, n in zip(outs, spatial, strict=True))
    return max(weights, prod(map(int, input.shape[:2])) * prod(map(max, outs, spatial)))


def _resample(input: Any, sizes: tuple[list[int], list[float]], mode: str, align: bool, antialias: bool) -> Any:
    how = _weights(mode, align, antialias)
    rows = zip(input.shape[2:], *sizes, strict=True)
    return _apply_along_dims(input, [how(int(size), out, scale) for size, out, scale in rows])


@nn_functional_op(
    elements=_elements,
    samples="""
        {}(randn(1, 2, 5), 3); {}(randn(1, 2, 4), scale_factor=1.5, mode='linear');
        {}(randn(1, 1, 3, 4), (5, 2), mode='bilinear', align_corners=True);
        {}(randn(1, 1, 3, 4), (5, 6), mode='bicubic'); {}(randn(1, 1, 4, 5), (2, 3), mode='area');
        {}(randn(1, 1, 2, 3, 2), (3, 2, 4), mode='trilinear'); {}(randn(1, 2, 5), 3, mode='nearest-exact');
        {}(randn(1, 1, 6, 5), (2, 3), mode='bilinear', antialias=True);
        {}(randn(1, 1, 2, 3, 2), (3, 4, 3), mode='nearest-exact')
    """,
)
def interpolate(
    input: Any,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Any:
    """(N, C, …) resized to `size`, or by `scale_factor`."""
    if mode not in _DIMS:
        raise ArgumentError(f"interpolate has no mode {mode!r}", hint=f"one of {', '.join(_DIMS)}")
    if input.ndim - 2 not in _DIMS[mode]:
        raise ShapeMismatch(f"interpolate: {mode} of a shape of {list(input.shape)}", hint="it takes (N, C, …)")
    if align_corners is not None and (mode.startswith("nearest") or mode == "area"):
        raise ArgumentError(f"interpolate: align_corners has no meaning with mode={mode!r}")
    if antialias and mode not in ("bilinear", "bicubic"):
        raise ArgumentError(f"interpolate: mode={mode!r} has no antialias")
    if recompute_scale_factor and size is not None:
        raise ArgumentError("recompute_scale_factor asks for a scale_factor, not for a size")
    sizes = _sizes(input, size, scale_factor, recompute_scale_factor)
    return _resample(input, sizes, mode, bool(align_corners), antialias)


@nn_functional_op(
    elements=_elements,
    samples="{}(randn(1, 1, 3, 4), (5, 2), mode='bilinear', align_corners=True); {}(randn(1, 1, 3), None, 2)",
)
def upsample(
    input: Any, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None
) -> Any:
    """`interpolate`."""
    return interpolate(input, size, scale_factor, mode, align_corners)


@nn_functional_op(elements=_elements, samples="{}(randn(1, 1, 3, 4), (5, 2)); {}(randn(1, 1, 2, 2), scale_factor=2)")
def upsample_bilinear(input: Any, size: Any = None, scale_factor: Any = None) -> Any:
    """`interpolate` with mode "bilinear" and `align_corners`."""
    return interpolate(input, size, scale_factor, "bilinear", True)


@nn_functional_op(elements=_elements, samples="{}(randn(1, 1, 3, 4), (5, 2)); {}(randn(1, 1, 3), scale_factor=2)")
def upsample_nearest(input: Any, size: Any = None, scale_factor: Any = None) -> Any:
    """`interpolate` with mode "nearest"."""
    return interpolate(input, size, scale_factor)


@nn_functional_op(
    "ops.aten._upsample_bilinear2d_aa",
    name="_upsample_bilinear2d_aa",
    samples="{}(randn(1, 1, 6, 5), (2, 3), False)",
    elements=lambda input, size, *_: _elements(input, size),
)
def upsample_smooth(
    input: Any, output_size: Any, align_corners: bool, scales_h: Any = None, scales_w: Any = None, *,
    scale_factors: Any = None,
) -> Any:  # fmt: skip
    """`interpolate` with mode "bilinear" and `antialias`."""
    outs, scales = _sizes(input, output_size, scale_factors, None)
    told = [1 / own if own else known for own, known in zip((scales_h, scales_w), scales, strict=True)]
    return _resample(input, (outs, told), "bilinear", align_corners, True)


# Adaptive pooling ------------------------------------------------------------------------------------


def adaptive_pool_sizes(input: Any, output_size: Any, dims: int) -> list[int]:
    """Return output sizes; None keeps a size. Raises ShapeMismatch."""
    if input.ndim not in (dims + 1, dims + 2):
        raise ShapeMismatch(f"pooling over {dims} dimensions takes (N, C, …) with {dims} more, not {list(input.shape)}")
    listed = list(output_size) if isinstance(output_size, (tuple, list)) else [output_size] * dims
    if len(listed) != dims:
        raise ShapeMismatch(f"{len(listed)} sizes for {dims} dimensions")
    if 0 in input.shape[-dims:]:
        raise ShapeMismatch(f"pooling over {dims} dimensions: there is no element in {list(input.shape[-dims:])}")
    sizes = [
        int(n) if out is None else require_integer(out, "a size")
        for n, out in zip(input.shape[-dims:], listed, strict=True)
    ]
    if min(sizes) < 0:
        raise ShapeMismatch(f"pooling to {sizes}, which is less than nothing")
    return sizes


def adaptive_pool_elements(dims: int) -> Callable[..., int]:
    """Return a function that counts the elements of an adaptive pool."""

    def count(input: Any, output_size: Any, *settings: Any) -> int:
        outs = adaptive_pool_sizes(input, output_size, dims)
        spatial = [int(n) for n in input.shape[-dims:]]
        return prod(map(int, input.shape[:-dims])) * prod(n + 2 * out for n, out in zip(spatial, outs, strict=True))

    return count


def _define_adaptive_avg_pool(dims: int, torch: str, samples: str) -> None:
    doc = f"The means of (N, C, …) over {dims} dimensions parted into `output_size` windows."

    count = adaptive_pool_elements(dims)

    def elements(input: Any, output_size: Any) -> int:
        """Count elements, or those of the largest weight matrix."""
        outs = adaptive_pool_sizes(input, output_size, dims)
        return max(count(input, output_size), *(int(n) * out for n, out in zip(input.shape[-dims:], outs, strict=True)))

    @nn_functional_op(torch, name=f"adaptive_avg_pool{dims}d", doc=doc, samples=samples, elements=elements)
    def pool(input: Any, output_size: Any) -> Any:
        outs = adaptive_pool_sizes(input, output_size, dims)
        spatial = [int(n) for n in input.shape[-dims:]]
        return _apply_along_dims(input, [_mean_weights(n, out) for n, out in zip(spatial, outs, strict=True)])


_define_adaptive_avg_pool(1, "{}", "{}(randn(1, 2, 5), 3); {}(randn(2, 4), (2,))")
_define_adaptive_avg_pool(2, "nn.functional.{}", "{}(randn(1, 2, 5, 4), (3, None)); {}(randn(2, 4, 3), 2)")
_define_adaptive_avg_pool(3, "nn.functional.{}", "{}(randn(1, 2, 3, 2, 4), (2, 1, 3)); {}(randn(1, 3, 3, 3), 2)")
