"""Transposed convolution, adaptive maximum pooling, `max_unpool`."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from gradcheck.autograd import ops
from gradcheck.autograd.op import composite
from gradcheck.autograd.ops.common.dims import require_integer
from gradcheck.autograd.ops.common.nn_functional import nn_functional_op, require_one_float_dtype
from gradcheck.autograd.ops.common.windows import per_dimension
from gradcheck.autograd.ops.indexing import getitem, index_adjoint
from gradcheck.autograd.ops.rare_ops.resampling import adaptive_pool_elements, adaptive_pool_sizes
from gradcheck.errors import ArgumentError, ShapeMismatch

_ALL = slice(None)

# Transposed convolution ------------------------------------------------------------------------------


def _sum_overlapping(windows: Any, kernel: tuple[int, ...], stride: tuple[int, ...], dilation: tuple[int, ...]) -> Any:
    """Add (N, C, *kernel, *places) up to (N, C, *whole)."""
    dims = len(kernel)
    places = windows.shape[2 + dims :]
    index, whole = [], []
    for axis, (k, n, s, d) in enumerate(zip(kernel, places, stride, dilation, strict=True)):
        shape = [1] * (2 * dims)
        shape[axis], shape[dims + axis] = k, int(n)
        index.append((np.arange(k)[:, None] * d + np.arange(int(n)) * s).reshape(shape))
        whole.append((int(n) - 1) * s + d * (k - 1) + 1)
    return index_adjoint(windows, (_ALL, _ALL, *index), (*windows.shape[:2], *whole))


def _transposed_elements(
    input: Any, weight: Any, bias: Any, stride: Any, padding: Any, output_padding: Any, groups: int, dilation: Any
) -> int:
    """The number of products, or of the elements of their sum."""
    dims = weight.ndim - 2
    channels, batch = int(input.shape[-dims - 1]), int(input.shape[0]) if input.ndim == weight.ndim else 1
    products = prod(map(int, input.shape)) // max(channels, 1) * prod(map(int, weight.shape[1:])) * int(weight.shape[0])
    steps, apart = per_dimension(stride, dims, "stride"), per_dimension(dilation, dims, "dilation")
    more = per_dimension(output_padding, dims, "output_padding", 0)
    rows = zip(input.shape[-dims:], weight.shape[2:], steps, apart, more, strict=True)
    whole = prod((int(n) - 1) * s + d * (int(k) - 1) + 1 + m for n, k, s, d, m in rows)
    return max(products, batch * int(weight.shape[1]) * groups * whole)


def _check(dims: int, input: Any, weight: Any, bias: Any, groups: int) -> None:
    name = f"conv_transpose{dims}d"
    require_one_float_dtype(name, input, weight, bias)
    if weight.ndim != dims + 2 or input.ndim not in (dims + 1, dims + 2):
        raise ShapeMismatch(
            f"{name} takes (N, in, …) and (in, out, …), not {list(input.shape)} and {list(weight.shape)}"
        )
    if 0 in (*input.shape[-dims:], *weight.shape[-dims:]):
        raise ShapeMismatch(f"{name}: {list(input.shape)} and {list(weight.shape)} leave nothing to compute")
    if groups < 1 or input.shape[-dims - 1] != weight.shape[0] or weight.shape[0] % groups:
        raise ShapeMismatch(f"{name}: {list(input.shape)} in {groups} groups do not fit weights {list(weight.shape)}")
    if bias is not None and list(bias.shape) != [weight.shape[1] * groups]:
        raise ShapeMismatch(f"{name}: the bias has shape {list(bias.shape)}, expected [{weight.shape[1] * groups}]")


def _define_conv_transpose(dims: int, samples: str) -> None:
    doc = (
        "Each pixel of (N, in, …) times the kernels of (in, out / groups, …), added up where they overlap, plus `bias`."
    )

    @nn_functional_op("{}", name=f"conv_transpose{dims}d", doc=doc, samples=samples, elements=_transposed_elements)
    def convolution(
        input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, output_padding: Any = 0,
        groups: int = 1, dilation: Any = 1,
    ) -> Any:  # fmt: skip
        _check(dims, input, weight, bias, groups)
        if input.ndim == dims + 1:
            again = ops.unsqueeze(input, 0)
            return ops.squeeze(convolution(again, weight, bias, stride, padding, output_padding, groups, dilation), 0)
        around, more = (
            per_dimension(padding, dims, "padding", 0),
            per_dimension(output_padding, dims, "output_padding", 0),
        )
        steps, apart = per_dimension(stride, dims, "stride"), per_dimension(dilation, dims, "dilation")
        if any(m >= max(s, d) for m, s, d in zip(more, steps, apart, strict=True)):
            raise ArgumentError("the output padding must be smaller than the stride or the dilation")
        found = _sum_overlapping(
            _pixel_weight_products(input, weight, groups), tuple(map(int, weight.shape[2:])), steps, apart
        )
        pads = [n for p, m in zip(reversed(around), reversed(more), strict=True) for n in (-p, m - p)]
        found = ops.constant_pad_nd(found, tuple(pads)) if any(pads) else found
        if 0 in found.shape[-dims:]:
            raise ShapeMismatch(f"conv_transpose{dims}d: the padding leaves nothing of {list(found.shape)}")
        return found if bias is None else found + ops.reshape(bias, (1, bias.shape[0]) + (1,) * dims)


def _pixel_weight_products(input: Any, weight: Any, groups: int) -> Any:
    """Return (N, out, *kernel, *places): products summed over a group."""
    batch, channels, spatial = input.shape[0], input.shape[1], tuple(input.shape[2:])
    per, kernel = weight.shape[1], tuple(weight.shape[2:])
    pixels = ops.reshape(input, (batch, groups, channels // groups, prod(map(int, spatial))))
    rows = ops.reshape(weight, (groups, channels // groups, per * prod(map(int, kernel))))
    return ops.reshape(ops.transpose(rows, 1, 2) @ pixels, (batch, groups * per, *kernel, *spatial))


_define_conv_transpose(
    1, "{}(randn(2, 3, 4), randn(3, 2, 3)); {}(randn(4, 3), randn(4, 1, 2), randn(2), 2, 1, 1, groups=2)"
)
_define_conv_transpose(
    2, "{}(randn(1, 2, 3, 2), randn(2, 3, 2, 3), randn(3), stride=(2, 1), padding=1, dilation=(1, 2))"
)
_define_conv_transpose(3, "{}(randn(1, 2, 2, 1, 2), randn(2, 1, 2, 2, 1), stride=2)")


def _check_tbc(input: Any, weight: Any, bias: Any, pad: int) -> None:
    require_one_float_dtype("conv_tbc", input, weight, bias)
    if (input.ndim, weight.ndim, bias.ndim) != (3, 3, 1):
        shapes = f"{list(input.shape)}, {list(weight.shape)} and {list(bias.shape)}"
        raise ShapeMismatch(f"conv_tbc takes (l, N, in), (k, in, out) and (out,), not {shapes}")


@composite(
    method=False,
    elements=lambda input, weight, bias, pad: (
        prod(map(int, weight.shape)) * int(input.shape[1]) * (int(input.shape[0]) + 2 * pad)
    ),
    samples="conv_tbc(randn(5, 2, 3), randn(2, 3, 4), randn(4)); conv_tbc(randn(3, 1, 2), randn(3, 2, 1), randn(1), 1)",
)
def conv_tbc(input: Any, weight: Any, bias: Any, pad: int = 0) -> Any:
    """`conv1d` of (l, N, in) with kernels (k, in, out)."""
    _check_tbc(input, weight, bias, pad)
    turned = ops.conv1d(ops.permute(input, (1, 2, 0)), ops.permute(weight, (2, 1, 0)), bias, 1, pad)
    return ops.permute(turned, (2, 0, 1))


# Adaptive maximum ------------------------------------------------------------------------------------


def _windows(size: int, out: int) -> np.ndarray:
    """Return (out, widest) covered places; shorter windows repeat the last."""
    first, last = np.arange(out) * size // out, -(-(np.arange(1, out + 1) * size) // out)
    widest = int((last - first).max(initial=1))
    places: np.ndarray = np.minimum(first[:, None] + np.arange(widest), last[:, None] - 1)
    return places


def _grid(lines: list[np.ndarray]) -> list[np.ndarray]:
    """Shape lines (out, wide) to broadcast over (*outs, *wides)."""
    dims = len(lines)
    grids = []
    for axis, line in enumerate(lines):
        shape = [1] * (2 * dims)
        shape[axis], shape[dims + axis] = line.shape
        grids.append(line.reshape(shape))
    return grids


def _window_maxima(input: Any, lines: list[np.ndarray]) -> tuple[Any, Any]:
    """Return the maximum of each window, and its flat index."""
    dims = len(lines)
    lead, spatial = tuple(input.shape[:-dims]), [int(n) for n in input.shape[-dims:]]
    outs, wide = tuple(len(line) for line in lines), prod(line.shape[1] for line in lines)
    grids = _grid(lines)
    windows = ops.reshape(getitem(input, (*[_ALL] * len(lead), *grids)), (*lead, *outs, wide))
    values, picked = ops.max(windows, -1)
    flat: Any = 0
    for n, grid in zip(spatial, grids, strict=True):
        flat = flat * n + grid
    table = np.broadcast_to(np.broadcast_to(flat, (*outs, *(line.shape[1] for line in lines))).reshape(*outs, wide),
                            (*lead, *outs, wide))  # fmt: skip
    places = ops.gather(table.astype(np.int64), -1, ops.unsqueeze(picked, -1))
    return values, ops.squeeze(places, -1)


def _define_adaptive_max_pool(dims: int, samples: str) -> None:
    doc = f"The largest of (N, C, …) in each of `output_size` windows over {dims} dimensions, the first of equals."

    @nn_functional_op(
        name=f"adaptive_max_pool{dims}d", doc=doc, samples=samples, kinks="ties", elements=adaptive_pool_elements(dims)
    )
    def pool(input: Any, output_size: Any, return_indices: bool = False) -> Any:
        outs = adaptive_pool_sizes(input, output_size, dims)
        spatial = [int(n) for n in input.shape[-dims:]]
        found = _window_maxima(input, [_windows(n, out) for n, out in zip(spatial, outs, strict=True)])
        return found if return_indices else found[0]


_define_adaptive_max_pool(1, "{}(randn(1, 2, 5), 3); {}(randn(2, 4), (2,), True)")
_define_adaptive_max_pool(2, "{}(randn(1, 2, 5, 4), (3, None)); {}(randn(2, 4, 3), 2, return_indices=True)")
_define_adaptive_max_pool(3, "{}(randn(1, 2, 3, 2, 4), (2, 1, 3)); {}(randn(1, 3, 3, 3), 2)")

# Undone ----------------------------------------------------------------------------------------------


def _unpooled_sizes(
    input: Any, kernel: tuple[int, ...], stride: Any, padding: Any, output_size: Any
) -> tuple[int, ...]:
    dims = len(kernel)
    steps = per_dimension(kernel if stride is None or stride in ((), []) else stride, dims, "stride")
    around = per_dimension(padding, dims, "padding", 0)
    rows = zip(input.shape[-dims:], kernel, steps, around, strict=True)
    usual = [(int(n) - 1) * s - 2 * p + k for n, k, s, p in rows]
    if output_size is None:
        return tuple(usual)
    wanted = [require_integer(n, "a size") for n in tuple(output_size)[-dims:]]
    if any(not n - s < size < n + s for n, s, size in zip(usual, steps, wanted, strict=True)):
        raise ArgumentError(f"the output size {wanted} is a stride or more away from {usual}")
    return tuple(wanted)


def _define_max_unpool(dims: int, samples: str) -> None:
    doc = "Each number put back at its place in the flattened image, zeros elsewhere; `max_pool` tells the places."

    def count(input: Any, indices: Any, kernel_size: Any, stride: Any, padding: Any, output_size: Any) -> int:
        kernel = per_dimension(kernel_size, dims, "kernel_size")
        return prod(_unpooled_sizes(input, kernel, stride, padding, output_size)) * prod(map(int, input.shape[:-dims]))

    @nn_functional_op(name=f"max_unpool{dims}d", doc=doc, samples=samples, kinks="repeated places", elements=count)
    def unpool(
        input: Any, indices: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
    ) -> Any:
        if tuple(indices.shape) != tuple(input.shape):
            raise ShapeMismatch(f"max_unpool{dims}d: indices of {list(indices.shape)} for {list(input.shape)}")
        sizes = _unpooled_sizes(input, per_dimension(kernel_size, dims, "kernel_size"), stride, padding, output_size)
        lead = tuple(input.shape[:-dims])
        many = prod(int(n) for n in input.shape[-dims:])
        flat, places = ops.reshape(input, (*lead, many)), ops.reshape(indices, (*lead, many))
        blank = ops.zeros((*lead, prod(sizes)), dtype=input.dtype)
        return ops.reshape(ops.scatter(blank, -1, places, flat), (*lead, *sizes))


_define_max_unpool(1, "{}(randn(1, 2, 2), tensor([[[1, 2], [0, 3]]]), 2); {}(randn(1, 2), tensor([[1, 4]]), 2, 3)")
_define_max_unpool(
    2, "{}(randn(1, 1, 1, 2), tensor([[[[1, 6]]]]), 2); {}(randn(1, 1, 2), tensor([[[0, 5]]]), 2, output_size=(3, 5))"
)
_define_max_unpool(3, "{}(randn(1, 1, 1, 1, 2), tensor([[[[[1, 6]]]]]), 2)")


@composite(
    torch="ops.aten.max_pool2d_with_indices_backward",
    method=False,
    samples="{}(randn(1, 2, 1, 1), randn(1, 2, 3, 3), [3, 3], [3, 3], [0, 0], [1, 1], False, tensor([[[[4]], [[8]]]]))",
)
def max_pool2d_with_indices_backward(
    grad_output: Any, input: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool,
    indices: Any,
) -> Any:  # fmt: skip
    """The cotangent through `max_pool2d`: numbers added at their indices."""
    for what, least in ((kernel_size, 1), (stride, 1), (padding, 0), (dilation, 1)):
        per_dimension(what, 2, "window", least)
    lead, (h, w) = tuple(input.shape[:-2]), input.shape[-2:]
    many = prod(int(n) for n in grad_output.shape[-2:])
    flat, places = ops.reshape(grad_output, (*lead, many)), ops.reshape(indices, (*lead, many))
    blank = ops.zeros((*lead, int(h) * int(w)), dtype=input.dtype)
    return ops.reshape(ops.scatter_add(blank, -1, places, flat), (*lead, h, w))
