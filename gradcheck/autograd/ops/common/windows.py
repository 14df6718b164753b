"""Sliding windows over the last dimensions, for convolution and pooling."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from gradcheck.autograd import ops
from gradcheck.autograd.ops.common.dims import require_integer
from gradcheck.errors import ArgumentError, ShapeMismatch


@dataclass(frozen=True, slots=True)
class SlidingWindow:
    """The settings of windows over `dims` dimensions: one each, or for all."""

    dims: int
    stride: Any
    padding: Any
    dilation: Any = 1
    ceil: bool = False  # a window may begin where it does not end

    def windows(self, input: Any, sizes: tuple[int, ...], fill: float = 0) -> list[Any]:
        """Return, for each place in a window, what all windows have there.

        Each is a tensor of shape (N, C, *windows). `fill` pads the input. Raises ShapeMismatch if no window fits.
        """
        stride, dilation = self.steps
        around, counts = self._paddings(sizes), self.counts(tuple(input.shape[2:]), sizes)
        beyond = self._beyond(tuple(input.shape[2:]), sizes)
        pads = [size for (a, b), more in zip(reversed(around), reversed(beyond), strict=True) for size in (a, b + more)]
        padded = ops.constant_pad_nd(input, tuple(pads), fill)

        def cut(place: tuple[int, ...]) -> Any:
            starts = [at * d for at, d in zip(place, dilation, strict=True)]
            parts = (slice(b, b + (n - 1) * s + 1, s) for b, n, s in zip(starts, counts, stride, strict=True))
            return padded[(slice(None), slice(None), *parts)]

        return [cut(place) for place in np.ndindex(*sizes)]

    @property
    def steps(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return strides and dilations, one for each dimension."""
        return per_dimension(self.stride, self.dims, "stride"), per_dimension(self.dilation, self.dims, "dilation")

    def counts(self, spatial: tuple[int, ...], sizes: tuple[int, ...]) -> list[int]:
        """Return the number of windows along each dimension, at least 1."""
        found = []
        for n, k, s, d, (a, b) in zip(spatial, sizes, *self.steps, self._paddings(sizes), strict=True):
            room = n + a + b - d * (k - 1) - 1
            count = -(-room // s) + 1 if self.ceil else room // s + 1
            found.append(count - 1 if self.ceil and (count - 1) * s >= n + a else count)
        if any(count < 1 for count in found):
            raise ShapeMismatch(f"windows of {list(sizes)} do not fit into {list(spatial)}")
        return found

    def element_indices(self, spatial: tuple[int, ...], sizes: tuple[int, ...]) -> np.ndarray:
        """Return flat indices of the input, by place and window; may be outside."""
        grids = []
        counts = self.counts(spatial, sizes)
        for axis, (k, s, d, (a, _)) in enumerate(zip(sizes, *self.steps, self._paddings(sizes), strict=True)):
            line = np.arange(k)[:, None] * d + np.arange(counts[axis]) * s - a
            shape = [1] * (2 * self.dims)
            shape[axis], shape[self.dims + axis] = line.shape
            grids.append(line.reshape(shape))
        flat: Any = 0
        for n, grid in zip(spatial, grids, strict=True):
            flat = flat * n + grid
        return np.broadcast_to(flat, (*sizes, *counts)).reshape(prod(sizes), *counts).astype(np.int64)

    def _beyond(self, spatial: tuple[int, ...], sizes: tuple[int, ...]) -> list[int]:
        """Return how far the last windows reach beyond the padding."""
        rows = zip(spatial, sizes, *self.steps, self._paddings(sizes), self.counts(spatial, sizes), strict=True)
        return [max((c - 1) * s + d * (k - 1) + 1 - n - a - b, 0) if self.ceil else 0 for n, k, s, d, (a, b), c in rows]

    def _paddings(self, sizes: tuple[int, ...]) -> list[tuple[int, int]]:
        """Return the padding before and after each dimension."""
        stride, dilation = self.steps
        if self.padding == "same":
            if max(stride) > 1:
                raise ArgumentError("padding='same' takes a stride of 1 alone")
            totals = [d * (k - 1) for k, d in zip(sizes, dilation, strict=True)]
            return [(total // 2, total - total // 2) for total in totals]
        if isinstance(self.padding, str) and self.padding != "valid":
            raise ArgumentError(f"no padding {self.padding!r}", hint="expected numbers, 'same' or 'valid'")
        return [(n, n) for n in per_dimension(0 if self.padding == "valid" else self.padding, self.dims, "padding", 0)]


def per_dimension(value: Any, count: int, what: str, least: int = 1) -> tuple[int, ...]:
    """Return one number for each dimension. Raises for other counts."""
    values = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    values = values * count if len(values) == 1 else values
    if len(values) != count:
        raise ShapeMismatch(f"the {what} has {len(values)} numbers for {count} dimensions")
    if any(require_integer(v, what) < least for v in values):
        raise ArgumentError(f"the {what} must be at least {least}, not {value}")
    return values


def padded_elements(input: Any, sizes: Any, padding: Any) -> int:
    """Return the number of padded elements, a bound for that of windows."""
    around = per_dimension(0 if isinstance(padding, str) else padding, len(sizes), "padding", 0)
    return prod(int(n) + 2 * p for n, p in zip(input.shape[-len(sizes) :], around, strict=True))
