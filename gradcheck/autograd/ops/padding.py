"""Padding of the last dimensions, by a number or the tensor itself."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from gradcheck.autograd import ops
from gradcheck.autograd.op import composite, linear
from gradcheck.autograd.ops.common.dims import require_integer
from gradcheck.errors import ArgumentError, ShapeMismatch


def _pairs(name: str, ndim: int, pad: Any) -> list[tuple[int, int]]:
    """Return the padding of each dimension; torch lists the last one first."""
    sizes = [require_integer(size, "a padding") for size in pad]
    if len(sizes) % 2 or len(sizes) > 2 * ndim:
        raise ShapeMismatch(f"{name}: {len(sizes)} paddings for {ndim} dimensions; expected a pair for each")
    pairs = [(before, after) for before, after in zip(sizes[::2], sizes[1::2], strict=True)]
    return [(0, 0)] * (ndim - len(pairs)) + pairs[::-1]


def _padded_elements(input: Any, pad: Any, *settings: Any) -> int:
    pairs = _pairs("pad", input.ndim, pad)
    return prod(int(n) + before + after for n, (before, after) in zip(input.shape, pairs, strict=True))


@linear(
    lambda g, y, x, pad, value: ops.constant_pad_nd(g, tuple(-size for size in pad)),
    method=False,
    elements=_padded_elements,
    samples="""
        {}(randn(2, 3), (1, 2)); {}(randn(2, 3), [1, -1, 0, 2], 1.5); {}(randn(2, 3), [-1, -1]);
        {}(randn(0, 3), [0, 0, 1, 1])
    """,
)
def constant_pad_nd(input: Any, pad: Any, value: float = 0) -> Any:
    """`value` around the last dimensions, the last first; negative cuts."""
    pairs = _pairs("constant_pad_nd", input.ndim, pad)
    if any(n + before + after < 0 for n, (before, after) in zip(input.shape, pairs, strict=True)):
        raise ShapeMismatch(f"constant_pad_nd: {list(pad)} cuts off more than there is in {list(input.shape)}")
    kept = input[tuple(slice(max(-b, 0), n - max(-a, 0)) for n, (b, a) in zip(input.shape, pairs, strict=True))]
    return np.pad(kept, [(max(b, 0), max(a, 0)) for b, a in pairs], constant_values=value)


@composite(
    torch="nn.functional.pad",
    method=False,
    elements=_padded_elements,
    samples="""
        pad(randn(2, 3), (1, 2)); pad(randn(2, 3), [1, 1, 0, 2], value=0.5);
        pad(randn(1, 2, 3), (2, 1), mode='reflect'); pad(randn(1, 2, 3), (2, 1), 'replicate');
        pad(randn(1, 2, 3), (2, 1), mode='circular')
    """,
)
def pad(input: Any, pad: Any, mode: str = "constant", value: float | None = None) -> Any:
    """`value`, or the reflected, replicated or circular tensor, around it."""
    if mode == "constant":
        return constant_pad_nd(input, tuple(pad), 0 if value is None else value)
    if mode not in _PLACES or value is not None:
        hint = "expected 'constant', 'reflect', 'replicate' or 'circular'"
        raise ArgumentError(f"pad: no mode {mode!r} with value={value}", hint=hint)
    if input.ndim - len(pad) // 2 not in (1, 2):
        around = f"{mode} around {len(pad) // 2} dimensions"
        raise ShapeMismatch(f"pad: {around} takes 1 or 2 more before them, not shape {list(input.shape)}")
    for dim, (before, after) in enumerate(_pairs("pad", input.ndim, pad)):
        size = input.shape[dim]
        if mode != "replicate" and max(before, after) > max(size - (mode == "reflect"), 0):
            raise ShapeMismatch(f"pad: {mode} cannot put {max(before, after)} around a dimension of {size}")
        if mode == "circular" and min(before, after) < 0:  # what is cut off comes back nowhere
            kept = size + min(before, 0) + min(after, 0)
            input, size = ops.narrow(input, dim, max(-before, 0), kept), kept
            before, after = max(before, 0), max(after, 0)
        if before or after:
            input = ops.index_select(input, dim, _PLACES[mode](ops.arange(-before, size + after), size))
    return input


def _reflect_index(place: Any, last: Any) -> Any:
    """Reflect places into 0 … `last`."""
    return last - ops.abs(last - ops.remainder(place, 2 * last))


#: By mode, the index of the element at a place before, in or after the tensor.
_PLACES = {
    "reflect": lambda place, size: _reflect_index(place, size - 1),
    "replicate": lambda place, size: ops.clamp(place, 0, size - 1),
    "circular": lambda place, size: ops.remainder(place, size),
}
