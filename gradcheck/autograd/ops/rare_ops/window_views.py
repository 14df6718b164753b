"""Sliding windows as views: `unfold`, `as_strided`, `fold`; shuffles."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from gradcheck.autograd import ops
from gradcheck.autograd.op import composite
from gradcheck.autograd.ops.common.dims import as_shape, canonical_dim, require_integer
from gradcheck.autograd.ops.common.windows import per_dimension
from gradcheck.autograd.ops.indexing import getitem, index_adjoint
from gradcheck.errors import ArgumentError, ShapeMismatch

_ALL = slice(None)

# Along one dimension ---------------------------------------------------------------------------------


@composite(
    torch="Tensor.unfold",
    samples="randn(5).unfold(0, 2, 1); unfold(randn(2, 5), -1, 3, 2); unfold(randn(()), 0, 1, 1)",
    elements=lambda input, dimension, size, step: prod(input.shape) * max(size, 1),
)
def unfold(input: Any, dimension: int, size: int, step: int) -> Any:
    """All windows along `dimension`, `step` apart, in a new last dimension."""
    line = input if input.ndim else ops.reshape(input, (1,))
    axis = canonical_dim(dimension, line.ndim)
    length, width, by = line.shape[axis], require_integer(size, "the size"), require_integer(step, "the step")
    if width < 0 or width > length or by < 1:
        raise ShapeMismatch(f"unfold: windows of {width}, {by} apart, of {length} elements")
    starts = np.arange(0, length - width + 1, by)
    found = getitem(line, (*[_ALL] * axis, starts[:, None] + np.arange(width)))
    windows = ops.movedim(found, axis + 1, -1)
    return windows if input.ndim else ops.reshape(windows, (windows.shape[-1],))


# By strides ------------------------------------------------------------------------------------------


def _strided(input: Any, size: Any, stride: Any, offset: int | None) -> np.ndarray:
    """Return the flat index of each element of the result."""
    shape, by = as_shape(list(size)), [require_integer(s, "a stride") for s in stride]
    if len(shape) != len(by):
        raise ShapeMismatch(f"as_strided: {len(by)} strides for {len(shape)} sizes")
    if min(by, default=0) < 0:
        raise ArgumentError(f"as_strided takes strides from 0 up, not {by}")
    places = np.full(shape, offset or 0)
    for axis, (count, one) in enumerate(zip(shape, by, strict=True)):
        places = places + (np.arange(count) * one).reshape([-1 if d == axis else 1 for d in range(len(shape))])
    if places.size and (places.min() < 0 or places.max() >= prod(input.shape)):
        raise ShapeMismatch(f"as_strided: place {places.max()} of {prod(input.shape)} elements")
    return places


def _many(input: Any, size: Any, *_: Any) -> int:
    """Count places along every dimension, of empty shapes too."""
    return prod(max(n, 1) for n in as_shape(list(size)))


@composite(
    samples="{}(randn(3, 3), (2, 2), (1, 2)); {}(randn(6), [2, 3], [1, 1], 1); {}(randn(4), (), (), 2)", elements=_many
)
def as_strided(input: Any, size: Any, stride: Any, storage_offset: int | None = None) -> Any:
    """Elements of the contiguous `input` at these strides."""
    return getitem(ops.ravel(input), _strided(input, size, stride, storage_offset))


@composite(
    kinks="overlapping places",
    samples="{}(randn(3, 3), randn(2, 2), (2, 2), (1, 3)); {}(randn(4), randn(()), (), (), 2)",
    elements=lambda input, src, size, *_: max(_many(input, size), prod(map(int, input.shape))),
)
def as_strided_scatter(input: Any, src: Any, size: Any, stride: Any, storage_offset: int | None = None) -> Any:
    """`input` with `src` written at these distances from each other."""
    places = _strided(input, size, stride, storage_offset)
    if tuple(src.shape) != places.shape:
        raise ShapeMismatch(f"as_strided_scatter: a source of shape {list(src.shape)} for {list(places.shape)}")
    flat = ops.index_put(ops.ravel(input), (places.reshape(-1),), ops.ravel(src))
    return ops.reshape(flat, tuple(input.shape))


# Columns of a convolution ----------------------------------------------------------------------------


def _blocks(shape: list[int], kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> tuple[Any, ...]:
    """Return the indices of windows, (k, l) by (h, w), and the paddings."""
    kernel, apart = per_dimension(kernel_size, 2, "kernel_size"), per_dimension(dilation, 2, "dilation")
    around, by = per_dimension(padding, 2, "padding", 0), per_dimension(stride, 2, "stride")
    index = []
    for n, k, d, p, s in zip(shape, kernel, apart, around, by, strict=True):
        count = (n + 2 * p - d * (k - 1) - 1) // s + 1
        if count < 1:
            raise ShapeMismatch(f"windows of {list(kernel)} do not fit into {shape}")
        index.append(np.arange(k)[:, None] * d + np.arange(count) * s)
    return index[0][:, None, :, None], index[1][None, :, None, :], around


def _columns(input: Any, kernel_size: Any, dilation: Any, padding: Any, stride: Any, *_: Any) -> int:
    around, by = per_dimension(padding, 2, "padding", 0), per_dimension(stride, 2, "stride")
    lead, window = prod(map(int, input.shape[:-2])) or 1, prod(per_dimension(kernel_size, 2, "kernel_size"))
    padded = [int(n) + 2 * p for n, p in zip(input.shape[-2:], around, strict=True)]
    windows = prod(n // s + 1 for n, s in zip(padded, by, strict=True))
    return max(prod(map(int, input.shape)) * window * 4, lead * prod(padded), lead * window * windows)


@composite(
    name="nn.functional.unfold",
    method=False,
    elements=_columns,
    samples="{}(randn(1, 2, 3, 4), 2); {}(randn(2, 4, 3), (2, 1), padding=1, stride=2, dilation=(1, 2))",
)
def columns(input: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Any:
    """Each window of (N, C, h, w) as a column: (N, C k l, windows)."""
    if input.ndim not in (3, 4):
        raise ShapeMismatch(f"nn.functional.unfold takes (N, C, h, w) or (C, h, w), not {list(input.shape)}")
    batch = input if input.ndim == 4 else ops.unsqueeze(input, 0)
    if 0 in input.shape[-3:]:
        raise ShapeMismatch(f"nn.functional.unfold: {list(input.shape)} has no elements")
    rows, across, (up, left) = _blocks(list(batch.shape[2:]), kernel_size, dilation, padding, stride)
    padded = ops.constant_pad_nd(batch, (left, left, up, up))
    found = getitem(padded, (_ALL, _ALL, rows, across))
    k = prod(per_dimension(kernel_size, 2, "kernel_size"))
    count = prod(found.shape[4:])
    made = ops.reshape(found, (batch.shape[0], batch.shape[1] * k, count))
    return made if batch is input else ops.squeeze(made, 0)


@composite(
    torch="nn.functional.fold",
    method=False,
    samples="fold(randn(1, 8, 6), (3, 4), 2); fold(randn(4, 9), 4, kernel_size=2)",
    elements=lambda input, output_size, *_: prod(per_dimension(output_size, 2, "output_size")) * prod(input.shape[:-1]),
)
def fold(input: Any, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Any:
    """Columns put back as windows of an image, added up."""
    if input.ndim not in (2, 3):
        raise ShapeMismatch(f"fold takes (N, C k l, windows) or (C k l, windows), not {list(input.shape)}")
    batch = input if input.ndim == 3 else ops.unsqueeze(input, 0)
    size, kernel = per_dimension(output_size, 2, "output_size"), per_dimension(kernel_size, 2, "kernel_size")
    rows, across, (up, left) = _blocks(list(size), kernel_size, dilation, padding, stride)
    counts = (rows.shape[2], across.shape[3])
    if 0 in batch.shape[1:] or batch.shape[1] % prod(kernel) or batch.shape[2] != prod(counts):
        raise ShapeMismatch(f"fold: columns of {list(input.shape)} are no {prod(counts)} windows of {list(kernel)}")
    channels = batch.shape[1] // prod(kernel)
    windows = ops.reshape(batch, (batch.shape[0], channels, *kernel, *counts))
    padded = (batch.shape[0], channels, size[0] + 2 * up, size[1] + 2 * left)
    whole = index_adjoint(windows, (_ALL, _ALL, rows, across), padded)
    found = ops.constant_pad_nd(whole, (-left, -left, -up, -up))
    return found if batch is input else ops.squeeze(found, 0)


# Channels and pixels ---------------------------------------------------------------------------------


@composite(torch="nn.functional.pixel_shuffle", method=False, samples="{}(randn(2, 8, 2, 3), 2); {}(randn(4, 1, 2), 2)")
def pixel_shuffle(input: Any, upscale_factor: int) -> Any:
    """Channels (C r r, h, w) spread over the pixels of (C, h r, w r)."""
    r, shape = require_integer(upscale_factor, "the factor"), tuple(input.shape)
    if len(shape) < 3 or r < 1 or shape[-3] % (r * r):
        raise ShapeMismatch(f"pixel_shuffle: {list(shape)} has no multiple of {r}² channels")
    lead, (c, h, w) = shape[:-3], shape[-3:]
    n = len(lead)
    parted = ops.reshape(input, (*lead, c // (r * r), r, r, h, w))
    turned = ops.permute(parted, (*range(n), n, n + 3, n + 1, n + 4, n + 2))
    return ops.reshape(turned, (*lead, c // (r * r), h * r, w * r))


@composite(
    torch="nn.functional.pixel_unshuffle", method=False, samples="{}(randn(2, 2, 4, 6), 2); {}(randn(1, 2, 4), 2)"
)
def pixel_unshuffle(input: Any, downscale_factor: int) -> Any:
    """The inverse of `pixel_shuffle`."""
    r, shape = require_integer(downscale_factor, "the factor"), tuple(input.shape)
    if len(shape) < 3 or r < 1 or shape[-1] % r or shape[-2] % r:
        raise ShapeMismatch(f"pixel_unshuffle: {list(shape)} does not part into squares of {r}")
    lead, (c, h, w) = shape[:-3], shape[-3:]
    n = len(lead)
    parted = ops.reshape(input, (*lead, c, h // r, r, w // r, r))
    turned = ops.permute(parted, (*range(n), n, n + 2, n + 4, n + 1, n + 3))
    return ops.reshape(turned, (*lead, c * r * r, h // r, w // r))


@composite(
    torch="channel_shuffle",
    aliases=("native_channel_shuffle",),
    method=False,
    samples="{}(randn(2, 6, 2), 3); {}(randn(1, 4, 2, 2), groups=2)",
)
def channel_shuffle(input: Any, groups: int) -> Any:
    """Channels of (N, C, …) dealt out from `groups` groups in turn."""
    if input.ndim < 3 or groups < 1 or input.shape[1] % groups:
        raise ArgumentError(f"channel_shuffle: {groups} groups of the channels of {list(input.shape)}")
    shape = tuple(input.shape)
    parted = ops.reshape(input, (shape[0], groups, shape[1] // groups, *shape[2:]))
    return ops.reshape(ops.transpose(parted, 1, 2), shape)
