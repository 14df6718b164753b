"""Windows that slide over the last dimensions: convolution, and pooling by mean or maximum.

A convolution is a matrix product of the kernels, as rows, with the windows, as columns (Chellapilla, Puri, Simard:
High performance convolutional neural networks for document processing, 2006). Shapes are torch's: (N, C, …), or
(C, …) without a batch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from gradcheck.autograd import ops
from gradcheck.autograd.ops.common.dims import integer
from gradcheck.autograd.ops.common.functional import functional
from gradcheck.autograd.promotion import require_one_dtype
from gradcheck.errors import ArgumentError, ShapeMismatch

# Windows -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Slide:
    """How windows slide over the last `dims` dimensions; each setting is a number for all of them, or one for each."""

    dims: int
    stride: Any
    padding: Any
    dilation: Any = 1

    def windows(self, input: Any, sizes: tuple[int, ...], fill: float = 0) -> list[Any]:
        """For each place in a window, what all windows have there: tensors of shape (N, C, *number of windows).

        `fill` is put around the input. Raises ShapeMismatch where no window fits.
        """
        stride, dilation = _each(self.stride, self.dims, "stride"), _each(self.dilation, self.dims, "dilation")
        padded = ops.constant_pad_nd(input, tuple(self._paddings(sizes, stride, dilation)), fill)
        spatial = padded.shape[2:]
        counts = [(n - d * (k - 1) - 1) // s + 1 for n, k, s, d in zip(spatial, sizes, stride, dilation, strict=True)]
        if any(count < 1 for count in counts):
            raise ShapeMismatch(f"windows of {list(sizes)} do not fit into {list(spatial)}")

        def cut(place: tuple[int, ...]) -> Any:
            starts = [at * d for at, d in zip(place, dilation, strict=True)]
            parts = (slice(b, b + (n - 1) * s + 1, s) for b, n, s in zip(starts, counts, stride, strict=True))
            return padded[(slice(None), slice(None), *parts)]

        return [cut(place) for place in np.ndindex(*sizes)]

    def _paddings(self, sizes: tuple[int, ...], stride: tuple[int, ...], dilation: tuple[int, ...]) -> list[int]:
        """Before and after each dimension, as `constant_pad_nd` takes it."""
        if self.padding == "same":
            if max(stride) > 1:
                raise ArgumentError("padding='same' takes a stride of 1 alone")
            totals = [d * (k - 1) for k, d in zip(sizes, dilation, strict=True)]
            return [size for total in reversed(totals) for size in (total // 2, total - total // 2)]
        if isinstance(self.padding, str) and self.padding != "valid":
            raise ArgumentError(f"no padding {self.padding!r}", hint="expected numbers, 'same' or 'valid'")
        around = _each(0 if self.padding == "valid" else self.padding, self.dims, "padding", 0)
        return [size for n in reversed(around) for size in (n, n)]


def _each(value: Any, count: int, what: str, least: int = 1) -> tuple[int, ...]:
    """One number for all dimensions, or one for each."""
    values = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    values = values * count if len(values) == 1 else values
    if len(values) != count:
        raise ShapeMismatch(f"the {what} has {len(values)} numbers for {count} dimensions")
    if any(integer(v, what) < least for v in values):
        raise ArgumentError(f"the {what} must be at least {least}, not {value}")
    return values


def _padded_elements(input: Any, sizes: Any, padding: Any) -> int:
    """Of the last dimensions with what is put around them: no window begins elsewhere, so as many windows at most."""
    around = _each(0 if isinstance(padding, str) else padding, len(sizes), "padding", 0)
    return prod(int(n) + 2 * p for n, p in zip(input.shape[-len(sizes) :], around, strict=True))


# Convolution ---------------------------------------------------------------------------------------


def _convolved_elements(input: Any, weight: Any, bias: Any, stride: Any, padding: Any, *settings: Any) -> int:
    """Elements of the columns, or of the result if it has more."""
    sizes = weight.shape[2:]
    batch: int = input.shape[0] if input.ndim == weight.ndim else 1
    rows: int = input.shape[-len(sizes) - 1] * prod(sizes)
    return batch * max(rows, int(weight.shape[0])) * _padded_elements(input, sizes, padding)


def _convolve(slide: _Slide, input: Any, weight: Any, bias: Any, groups: int) -> Any:
    """(N, in, …) with kernels (out, in / groups, …): (N, out, …). Each group of channels meets its own kernels."""
    _check_convolution(slide.dims, input, weight, bias, groups)
    if input.ndim == slide.dims + 1:
        return ops.squeeze(_convolve(slide, ops.unsqueeze(input, 0), weight, bias, groups), 0)
    batch, out, sizes = input.shape[0], weight.shape[0], tuple(weight.shape[2:])
    windows = slide.windows(input, sizes)
    rows = weight.shape[1] * prod(sizes)
    columns = ops.reshape(ops.stack(windows, 2), (batch, groups, rows, -1))
    products = ops.reshape(weight, (groups, out // groups, rows)) @ columns
    found = ops.reshape(products, (batch, out, *windows[0].shape[2:]))
    return found if bias is None else found + ops.reshape(bias, (1, out) + (1,) * slide.dims)


def _check_convolution(dims: int, input: Any, weight: Any, bias: Any, groups: int) -> None:
    if weight.ndim != dims + 2 or input.ndim not in (dims + 1, dims + 2):
        expected = f"(N, C, …) and (out, in, …) with {dims} more dimensions"
        raise ShapeMismatch(f"conv{dims}d takes {expected}, not {list(input.shape)} and {list(weight.shape)}")
    channels, out = input.shape[-dims - 1], weight.shape[0]
    if groups < 1:
        raise ArgumentError(f"conv{dims}d takes at least 1 group, not {groups}")
    require_one_dtype(f"conv{dims}d", *(tensor for tensor in (input, weight, bias) if tensor is not None))
    if not out or 0 in input.shape[-dims:]:
        raise ShapeMismatch(f"conv{dims}d: {list(input.shape)} and {list(weight.shape)} leave nothing to compute")
    if channels != weight.shape[1] * groups or out % groups:
        grouped = f"{channels} channels in {groups} groups"
        raise ShapeMismatch(f"conv{dims}d: {grouped} do not fit weights {list(weight.shape)}")
    if bias is not None and list(bias.shape) != [out]:
        raise ShapeMismatch(f"conv{dims}d: the bias has shape {list(bias.shape)}, expected [{out}]")


def _convolution(dims: int, doc: str, samples: str) -> None:
    @functional("{}", name=f"conv{dims}d", doc=doc, elements=_convolved_elements, samples=samples)
    def convolution(
        input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
    ) -> Any:
        return _convolve(_Slide(dims, stride, padding, dilation), input, weight, bias, groups)


_convolution(
    1,
    "Each window of (N, in, l) against each kernel of (out, in / groups, k), plus `bias`: (N, out, windows).",
    """
        {}(randn(2, 3, 5), randn(4, 3, 2)); {}(randn(3, 6), randn(4, 3, 3), randn(4), 2, 1);
        {}(randn(2, 4, 7), randn(4, 2, 3), stride=2, padding='valid', dilation=2, groups=2);
        {}(randn(2, 3, 5), randn(4, 3, 2), padding='same')
    """,
)
_convolution(
    2,
    "Each window of (N, in, h, w) against each kernel of (out, in / groups, k, l), plus `bias`.",
    """
        {}(randn(2, 3, 4, 5), randn(4, 3, 2, 3));
        {}(randn(1, 2, 5, 4), randn(4, 2, 3, 3), randn(4), (2, 1), padding=(1, 2));
        {}(randn(1, 4, 5, 5), randn(2, 2, 2, 2), dilation=2, groups=2)
    """,
)


# Pooling -------------------------------------------------------------------------------------------


def _pooled_elements(dims: int) -> Callable[..., int]:
    def count(input: Any, kernel_size: Any, stride: Any, padding: Any, *settings: Any) -> int:
        sizes = _each(kernel_size, dims, "kernel_size")
        return prod(map(int, input.shape[:-dims])) * prod(sizes) * _padded_elements(input, sizes, padding)

    return count


def _pooled(slide: _Slide, input: Any, kernel_size: Any, fill: float) -> Any:
    """The windows of each channel, stacked in a new first dimension. Without a stride they do not overlap."""
    dims = slide.dims
    if input.ndim not in (dims + 1, dims + 2):
        raise ShapeMismatch(f"pooling over {dims} dimensions takes (N, C, …) with {dims} more, not {list(input.shape)}")
    sizes, around = _each(kernel_size, dims, "kernel_size"), _each(slide.padding, dims, "padding", 0)
    if any(2 * p > k for p, k in zip(around, sizes, strict=True)):
        raise ShapeMismatch(f"a padding of {list(around)} is more than half of the windows of {list(sizes)}")
    if slide.stride is None:
        slide = replace(slide, stride=sizes)
    batch = input if input.ndim == dims + 2 else ops.unsqueeze(input, 0)
    stacked = ops.stack(slide.windows(batch, sizes, fill), 0)
    return stacked if batch is input else ops.squeeze(stacked, 1)


def _average(slide: _Slide, input: Any, kernel_size: Any, count_include_pad: bool) -> Any:
    windows = _pooled(slide, input, kernel_size, 0.0)
    if count_include_pad:
        return ops.mean(windows, 0)
    return ops.sum(windows, 0) / ops.sum(_pooled(slide, ops.ones_like(input), kernel_size, 0.0), 0)


def _average_pool(dims: int, sizes: str, samples: str, torch: str = "nn.functional.{}") -> None:
    @functional(
        torch,
        name=f"avg_pool{dims}d",
        doc=f"The mean of each window of (N, C, {sizes}); windows do not overlap unless `stride` says so.",
        elements=_pooled_elements(dims),
        samples=samples,
    )
    def pool(
        input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, *, count_include_pad: bool = True
    ) -> Any:
        return _average(_Slide(dims, stride, padding), input, kernel_size, count_include_pad)


def _max_pool(dims: int, sizes: str, samples: str) -> None:
    @functional(
        "{}",
        name=f"max_pool{dims}d",
        doc=f"The largest of each window of (N, C, {sizes}), the first of equals; padding is never chosen.",
        kinks="ties",
        elements=_pooled_elements(dims),
        samples=samples,
    )
    def pool(input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1) -> Any:
        return ops.max(_pooled(_Slide(dims, stride, padding, dilation), input, kernel_size, -np.inf), 0)[0]


_average_pool(1, "l", "{}(randn(2, 3, 6), 2); {}(randn(3, 7), 3, 2, 1, count_include_pad=False)", torch="{}")
_average_pool(2, "h, w", "{}(randn(2, 3, 4, 6), 2); {}(randn(1, 2, 5, 5), (3, 2), 1, (1, 0), count_include_pad=False)")
_max_pool(1, "l", "{}(randn(2, 3, 6), 2); {}(randn(3, 7), 3, 2, 1)")
_max_pool(2, "h, w", "{}(randn(2, 3, 4, 6), 2); {}(randn(1, 2, 5, 5), (3, 2), stride=1, padding=(1, 0))")
