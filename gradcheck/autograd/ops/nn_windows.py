"""Windows that slide over the last dimensions: convolution and pooling."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from gradcheck.autograd.op import composite
from gradcheck.autograd.ops.by_name import ops
from gradcheck.autograd.ops.dims import integer
from gradcheck.autograd.ops.nn_common import kernel
from gradcheck.errors import ArgumentError, ShapeMismatch


def _each(value: Any, count: int, what: str, least: int = 1) -> tuple[int, ...]:
    """One number for all dimensions, or one for each."""
    values = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    values = values * count if len(values) == 1 else values
    if len(values) != count:
        raise ShapeMismatch(f"the {what} has {len(values)} numbers for {count} dimensions")
    if any(integer(v, what) < least for v in values):
        raise ArgumentError(f"the {what} must be at least {least}, not {value}")
    return values


def _windows(input: Any, sizes: tuple[int, ...], stride: tuple[int, ...], dilation: tuple[int, ...]) -> list[Any]:
    """For each place in a window, what all windows have there: tensors of shape (N, C, *number of windows)."""
    spatial = input.shape[2:]
    counts = [(n - d * (k - 1) - 1) // s + 1 for n, k, s, d in zip(spatial, sizes, stride, dilation, strict=True)]
    if any(count < 1 for count in counts):
        raise ShapeMismatch(f"windows of {list(sizes)} do not fit into {list(spatial)}")

    def cut(place: tuple[int, ...]) -> Any:
        starts = [at * d for at, d in zip(place, dilation, strict=True)]
        parts = (slice(b, b + (n - 1) * s + 1, s) for b, n, s in zip(starts, counts, stride, strict=True))
        return input[(slice(None), slice(None), *parts)]

    return [cut(place) for place in np.ndindex(*sizes)]


def _padded_elements(input: Any, sizes: Any, padding: Any) -> int:
    """Of the last dimensions with what is put around them: no window begins elsewhere, so as many windows at most."""
    around = _each(0 if isinstance(padding, str) else padding, len(sizes), "padding", 0)
    return prod(int(n) + 2 * p for n, p in zip(input.shape[-len(sizes) :], around, strict=True))


def _convolved(input: Any, weight: Any, bias: Any, stride: Any, padding: Any, *settings: Any) -> int:
    """Elements of the columns, or of the result if it has more."""
    sizes = weight.shape[2:]
    batch: int = input.shape[0] if input.ndim == weight.ndim else 1
    rows: int = input.shape[-len(sizes) - 1] * prod(sizes)
    return batch * max(rows, int(weight.shape[0])) * _padded_elements(input, sizes, padding)


def _pool_elements(dims: int) -> Callable[..., int]:
    def count(input: Any, kernel_size: Any, stride: Any, padding: Any, *settings: Any) -> int:
        sizes = _each(kernel_size, dims, "kernel_size")
        return prod(map(int, input.shape[:-dims])) * prod(sizes) * _padded_elements(input, sizes, padding)

    return count


def _paddings(padding: Any, sizes: tuple[int, ...], stride: tuple[int, ...], dilation: tuple[int, ...]) -> list[int]:
    """Before and after each dimension, as `constant_pad_nd` takes it."""
    if padding == "same":
        if max(stride) > 1:
            raise ArgumentError("padding='same' takes a stride of 1 alone")
        totals = [d * (k - 1) for k, d in zip(sizes, dilation, strict=True)]
        return [size for total in reversed(totals) for size in (total // 2, total - total // 2)]
    if isinstance(padding, str) and padding != "valid":
        raise ArgumentError(f"no padding {padding!r}", hint="expected numbers, 'same' or 'valid'")
    around = _each(0 if padding == "valid" else padding, len(sizes), "padding", 0)
    return [size for n in reversed(around) for size in (n, n)]


def _convolve(
    dims: int, input: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int
) -> Any:
    """Windows as columns, times the kernels as rows."""
    if weight.ndim != dims + 2 or input.ndim not in (dims + 1, dims + 2):
        raise ShapeMismatch(f"conv{dims}d takes (N, C, …) and (out, in, …) with {dims} more dimensions, not "
                            f"{list(input.shape)} and {list(weight.shape)}")  # fmt: skip
    if input.ndim == dims + 1:
        return ops.squeeze(_convolve(dims, ops.unsqueeze(input, 0), weight, bias, stride, padding, dilation, groups), 0)
    batch, channels, out, sizes = input.shape[0], input.shape[1], weight.shape[0], tuple(weight.shape[2:])
    if groups < 1:
        raise ArgumentError(f"conv{dims}d takes at least 1 group, not {groups}")
    if channels != weight.shape[1] * groups or out % groups:
        raise ShapeMismatch(
            f"conv{dims}d: {channels} channels in {groups} groups do not fit weights {list(weight.shape)}"
        )
    if bias is not None and list(bias.shape) != [out]:
        raise ShapeMismatch(f"conv{dims}d: the bias has shape {list(bias.shape)}, expected [{out}]")
    steps, spread = _each(stride, dims, "stride"), _each(dilation, dims, "dilation")
    padded = ops.constant_pad_nd(input, tuple(_paddings(padding, sizes, steps, spread)))
    windows = _windows(padded, sizes, steps, spread)
    rows = weight.shape[1] * prod(sizes)
    columns = ops.reshape(ops.stack(windows, 2), (batch, groups, rows, -1))
    products = ops.reshape(weight, (groups, out // groups, rows)) @ columns
    found = ops.reshape(products, (batch, out, *windows[0].shape[2:]))
    return found if bias is None else found + ops.reshape(bias, (1, out) + (1,) * dims)


@composite(
    method=False,
    elements=_convolved,
    samples=(
        "conv1d(randn(2, 3, 5), randn(4, 3, 2))",
        "conv1d(randn(3, 6), randn(4, 3, 3), randn(4), 2, 1)",
        "conv1d(randn(2, 4, 7), randn(4, 2, 3), stride=2, padding='valid', dilation=2, groups=2)",
        "conv1d(randn(2, 3, 5), randn(4, 3, 2), padding='same')",
    ),
)
@kernel
def conv1d(
    input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Any:
    """Each window of (N, in, l) against each kernel of (out, in / groups, k), plus `bias`: (N, out, windows)."""
    return _convolve(1, input, weight, bias, stride, padding, dilation, groups)


@composite(
    method=False,
    elements=_convolved,
    samples=(
        "conv2d(randn(2, 3, 4, 5), randn(4, 3, 2, 3))",
        "conv2d(randn(1, 2, 5, 4), randn(4, 2, 3, 3), randn(4), (2, 1), padding=(1, 2))",
        "conv2d(randn(1, 4, 5, 5), randn(2, 2, 2, 2), dilation=2, groups=2)",
    ),
)
@kernel
def conv2d(
    input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Any:
    """Each window of (N, in, h, w) against each kernel of (out, in / groups, k, l), plus `bias`."""
    return _convolve(2, input, weight, bias, stride, padding, dilation, groups)


def _pooled(dims: int, input: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any, fill: float) -> Any:
    """The windows of each channel, stacked in a new first dimension."""
    if input.ndim not in (dims + 1, dims + 2):
        raise ShapeMismatch(f"pooling over {dims} dimensions takes (N, C, …) with {dims} more, not {list(input.shape)}")
    sizes, around = _each(kernel_size, dims, "kernel_size"), _each(padding, dims, "padding", 0)
    if any(2 * p > k for p, k in zip(around, sizes, strict=True)):
        raise ShapeMismatch(f"a padding of {list(around)} is more than half of the windows of {list(sizes)}")
    batch = input if input.ndim == dims + 2 else ops.unsqueeze(input, 0)
    padded = ops.constant_pad_nd(batch, tuple(size for n in reversed(around) for size in (n, n)), fill)
    steps = sizes if stride is None else _each(stride, dims, "stride")
    stacked = ops.stack(_windows(padded, sizes, steps, _each(dilation, dims, "dilation")), 0)
    return stacked if batch is input else ops.squeeze(stacked, 1)


def _average(dims: int, input: Any, kernel_size: Any, stride: Any, padding: Any, count_include_pad: bool) -> Any:
    windows = _pooled(dims, input, kernel_size, stride, padding, 1, 0.0)
    if count_include_pad:
        return ops.mean(windows, 0)
    return ops.sum(windows, 0) / ops.sum(_pooled(dims, ops.ones_like(input), kernel_size, stride, padding, 1, 0.0), 0)


@composite(
    method=False,
    elements=_pool_elements(1),
    samples=("avg_pool1d(randn(2, 3, 6), 2)", "avg_pool1d(randn(3, 7), 3, 2, 1, count_include_pad=False)"),
)
@kernel
def avg_pool1d(
    input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, *, count_include_pad: bool = True
) -> Any:
    """The mean of each window of (N, C, l); windows do not overlap unless `stride` says so."""
    return _average(1, input, kernel_size, stride, padding, count_include_pad)


@composite(
    torch="nn.functional.avg_pool2d",
    method=False,
    elements=_pool_elements(2),
    samples=(
        "avg_pool2d(randn(2, 3, 4, 6), 2)",
        "avg_pool2d(randn(1, 2, 5, 5), (3, 2), 1, (1, 0), count_include_pad=False)",
    ),
)
@kernel
def avg_pool2d(
    input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, *, count_include_pad: bool = True
) -> Any:
    """The mean of each window of (N, C, h, w); windows do not overlap unless `stride` says so."""
    return _average(2, input, kernel_size, stride, padding, count_include_pad)


@composite(
    method=False,
    kinks="ties",
    elements=_pool_elements(1),
    samples=("max_pool1d(randn(2, 3, 6), 2)", "max_pool1d(randn(3, 7), 3, 2, 1)"),
)
@kernel
def max_pool1d(input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1) -> Any:
    """The largest of each window of (N, C, l), the first of equals; padding is never chosen."""
    return ops.max(_pooled(1, input, kernel_size, stride, padding, dilation, -np.inf), 0)[0]


@composite(
    method=False,
    kinks="ties",
    elements=_pool_elements(2),
    samples=("max_pool2d(randn(2, 3, 4, 6), 2)", "max_pool2d(randn(1, 2, 5, 5), (3, 2), stride=1, padding=(1, 0))"),
)
@kernel
def max_pool2d(input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1) -> Any:
    """The largest of each window of (N, C, h, w), the first of equals; padding is never chosen."""
    return ops.max(_pooled(2, input, kernel_size, stride, padding, dilation, -np.inf), 0)[0]
