"""Sliding windows: convolution, and pooling by mean or maximum.

A convolution is a matrix product of the kernels, as rows, with the windows, as columns (Chellapilla, Puri, Simard:
High performance convolutional neural networks for document processing, 2006). Shapes are torch's: (N, C, …), or
(C, …) without a batch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from gradcheck.autograd import ops
from gradcheck.autograd.dtype_sets import (
    FULL_REAL_FLOATING_OR_INT64,
    NUMBERS,
    REAL_FLOATING,
    REAL_FLOATING_OR_INT64,
    REAL_NUMBERS,
    DtypeSet,
)
from gradcheck.autograd.ops.common.dims import require_integer
from gradcheck.autograd.ops.common.nn_functional import nn_functional_op
from gradcheck.autograd.ops.common.windows import SlidingWindow, padded_elements, per_dimension
from gradcheck.autograd.promotion import require_one_dtype
from gradcheck.errors import ArgumentError, ShapeMismatch

# Convolution ---------------------------------------------------------------------------------------


def _convolved_elements(input: Any, weight: Any, bias: Any, stride: Any, padding: Any, *settings: Any) -> int:
    """Return the size of the columns, or of the result if larger."""
    sizes = weight.shape[2:]
    batch: int = input.shape[0] if input.ndim == weight.ndim else 1
    rows: int = input.shape[-len(sizes) - 1] * prod(sizes)
    return batch * max(rows, int(weight.shape[0])) * padded_elements(input, sizes, padding)


def _convolve(slide: SlidingWindow, input: Any, weight: Any, bias: Any, groups: int) -> Any:
    """Convolve (N, in, …) with (out, in / groups, …) to (N, out, …)."""
    _check_convolution(slide.dims, input, weight, bias, groups)
    if input.ndim == slide.dims + 1:
        return ops.squeeze(_convolve(slide, ops.unsqueeze(input, 0), weight, bias, groups), 0)
    batch, out, sizes = input.shape[0], weight.shape[0], tuple(weight.shape[2:])
    windows = slide.windows(input, sizes)
    rows = weight.shape[1] * prod(sizes)
    columns = ops.reshape(ops.stack(windows, 2), (batch, groups, rows, prod(windows[0].shape[2:])))
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
    entry = nn_functional_op(
        "{}",
        name=f"conv{dims}d",
        doc=doc,
        elements=_convolved_elements,
        dtypes={"input": NUMBERS},
        samples=samples,
    )

    @entry
    def convolution(
        input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
    ) -> Any:
        return _convolve(SlidingWindow(dims, stride, padding, dilation), input, weight, bias, groups)


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


_convolution(
    3,
    "Each window of (N, in, d, h, w) against each kernel of (out, in / groups, k, l, m), plus `bias`.",
    """
        {}(randn(1, 2, 3, 4, 3), randn(2, 2, 2, 3, 2));
        {}(randn(2, 3, 3, 3), randn(2, 2, 2, 2, 2), randn(2), 2, (1, 0, 1))
    """,
)


# Pooling -------------------------------------------------------------------------------------------


def pool_elements(dims: int) -> Callable[..., int]:
    def count(input: Any, kernel_size: Any, stride: Any, padding: Any, *settings: Any) -> int:
        sizes = per_dimension(kernel_size, dims, "kernel_size")
        return prod(map(int, input.shape[:-dims])) * prod(sizes) * padded_elements(input, sizes, padding)

    return count


def _stack_windows(slide: SlidingWindow, input: Any, kernel_size: Any, fill: float) -> Any:
    """Stack each channel's windows along dimension 0; disjoint by default."""
    dims = slide.dims
    if input.ndim not in (dims + 1, dims + 2):
        raise ShapeMismatch(f"pooling over {dims} dimensions takes (N, C, …) with {dims} more, not {list(input.shape)}")
    if 0 in input.shape[-dims - 1 :]:
        raise ShapeMismatch(f"pooling over {dims} dimensions: {list(input.shape)} has no elements")
    sizes, around = per_dimension(kernel_size, dims, "kernel_size"), per_dimension(slide.padding, dims, "padding", 0)
    if any(2 * p > k for p, k in zip(around, sizes, strict=True)):
        raise ShapeMismatch(f"a padding of {list(around)} is more than half of the windows of {list(sizes)}")
    if slide.stride is None:
        slide = replace(slide, stride=sizes)
    batch = input if input.ndim == dims + 2 else ops.unsqueeze(input, 0)
    stacked = ops.stack(slide.windows(batch, sizes, fill), 0)
    return stacked if batch is input else ops.squeeze(stacked, 1)


def _stride_or(stride: Any, otherwise: Any = None) -> Any:
    """Return the stride; torch takes an empty list for none."""
    return otherwise if stride is None or stride in ((), []) else stride


def _average(slide: SlidingWindow, input: Any, kernel_size: Any, count_include_pad: bool, divisor: int | None) -> Any:
    windows = _stack_windows(slide, input, kernel_size, 0.0)
    if divisor == 0:
        raise ArgumentError("the divisor must not be 0")
    if divisor is not None:
        return ops.sum(windows, 0) / require_integer(divisor, "the divisor")
    if count_include_pad and not slide.ceil:
        return ops.mean(windows, 0)
    return ops.sum(windows, 0) / _counted(slide, input, kernel_size, count_include_pad)


def _counted(slide: SlidingWindow, input: Any, kernel_size: Any, with_padding: bool) -> Any:
    """Return each window's count of elements, never beyond the padding."""
    ones = ops.ones_like(ops.detach(input))
    if not with_padding:
        return ops.sum(_stack_windows(slide, ones, kernel_size, 0.0), 0)
    spatial, sizes = tuple(map(int, input.shape[-slide.dims :])), per_dimension(kernel_size, slide.dims, "kernel_size")
    steps = per_dimension(_stride_or(slide.stride, sizes), slide.dims, "stride")
    around = per_dimension(slide.padding, slide.dims, "padding", 0)
    counts = replace(slide, stride=steps).counts(spatial, sizes)
    ones = ops.constant_pad_nd(ones, tuple(n for size in reversed(around) for n in (size, size)), 1.0)
    rows = zip(counts, steps, sizes, ones.shape[-slide.dims :], strict=True)
    more = [max((c - 1) * s + k - int(n), 0) for c, s, k, n in rows]
    ones = ops.constant_pad_nd(ones, tuple(n for size in reversed(more) for n in (0, size)), 0.0)
    inside = _stack_windows(SlidingWindow(slide.dims, steps, 0), ones, kernel_size, 0.0)
    return ops.sum(inside, 0)[(..., *(slice(count) for count in counts))]


def _average_pool(dims: int, sizes: str, dtypes: DtypeSet, samples: str, torch: str = "nn.functional.{}") -> None:
    entry = nn_functional_op(
        torch,
        dtypes={"input": dtypes},
        name=f"avg_pool{dims}d",
        doc=f"The mean of each window of (N, C, {sizes}); windows do not overlap unless `stride` says so.",
        elements=pool_elements(dims),
        samples=samples,
    )

    def pool(
        input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
        count_include_pad: bool = True, divisor_override: int | None = None,
    ) -> Any:  # fmt: skip
        slide = SlidingWindow(dims, _stride_or(stride), padding, ceil=ceil_mode)
        return _average(slide, input, kernel_size, count_include_pad, divisor_override)

    def along_one(
        input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> Any:  # fmt: skip
        return pool(input, kernel_size, stride, padding, ceil_mode, count_include_pad)

    entry(along_one if dims == 1 else pool)


def _max_pool(dims: int, sizes: str, samples: str) -> None:
    @nn_functional_op(
        name=f"max_pool{dims}d",
        doc=f"The largest of each window of (N, C, {sizes}), the first of equals; padding is never chosen. With "
        "`return_indices`, also where it stands.",
        kinks="ties",
        elements=pool_elements(dims),
        dtypes={"input": REAL_NUMBERS},
        samples=samples,
    )
    def pool(
        input: Any,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:
        sizes = per_dimension(kernel_size, dims, "kernel_size")
        slide = SlidingWindow(dims, _stride_or(stride, sizes), padding, dilation, ceil_mode)
        values, picked = ops.max(_stack_windows(slide, input, sizes, -np.inf), 0)
        if not return_indices:
            return values
        places = slide.element_indices(tuple(map(int, input.shape[-dims:])), sizes)
        lead = (1,) * (input.ndim - dims)
        table = np.broadcast_to(
            places.reshape(len(places), *lead, *places.shape[1:]), (len(places), *map(int, picked.shape))
        )
        return values, ops.squeeze(ops.gather(table, 0, ops.unsqueeze(picked, 0)), 0)


_average_pool(
    1, "l", REAL_FLOATING,
    "{}(randn(2, 3, 6), 2); {}(randn(3, 7), 3, 2, 1, False, False); {}(randn(2, 6), 3, 2, 1, ceil_mode=True)",
    torch="{}",
)  # fmt: skip
_average_pool(
    2,
    "h, w",
    REAL_FLOATING_OR_INT64,
    """
        {}(randn(2, 3, 4, 6), 2); {}(randn(1, 2, 5, 5), (3, 2), 1, (1, 0), count_include_pad=False);
        {}(randn(1, 2, 4, 5), 2, 2, ceil_mode=True, divisor_override=3)
    """,
)
_average_pool(
    3, "d, h, w", FULL_REAL_FLOATING_OR_INT64, "{}(randn(1, 2, 2, 4, 2), 2); {}(randn(1, 3, 3, 3), 2, 1, 1, True)"
)
_max_pool(1, "l", "{}(randn(2, 3, 6), 2); {}(randn(3, 7), 3, 2, 1); {}(randn(1, 5), 2, 2, ceil_mode=True)")
_max_pool(
    2,
    "h, w",
    """
        {}(randn(2, 3, 4, 6), 2); {}(randn(1, 2, 5, 5), (3, 2), stride=1, padding=(1, 0))
    """,
)
_max_pool(3, "d, h, w", "{}(randn(1, 2, 2, 2, 2), 2); {}(randn(1, 2, 2, 2), 2, 1, 1)")
