"""Modes of a call that must not change its result.

They vary the memory layout of inputs and incoming gradients, and the calls in between.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import torch

#: A tensor's layout in memory: contiguous; transposed with gaps between numbers; a part of a larger one with gaps
#: between rows; one number, or row, expanded to all; the transpose of a contiguous matrix; channels last; or the
#: contiguous end of a larger one.
Layout = Literal["plain", "strided", "sliced", "expanded", "transposed", "channels_last", "offset"]
#: The number of dimensions that a layout needs.
MIN_DIMENSIONS: Mapping[Layout, int] = {"transposed": 2, "channels_last": 4}
_CHANNELS_LAST = {4: torch.channels_last, 5: torch.channels_last_3d}


@dataclass(frozen=True, slots=True)
class CallMode:
    """One mode of a call.

    `calls_in_between` calls the code with other numbers between its forward and its backward; `without_accumulation`
    takes gradients by `torch.autograd.grad`."""

    inputs: Layout = "plain"
    incoming: Layout = "plain"
    calls_in_between: bool = False
    records_graph: bool = True
    requires_grad: bool = True
    without_accumulation: bool = False


PLAIN_CALL = CallMode()


def with_layout(tensor: torch.Tensor, layout: Layout) -> torch.Tensor:
    """Return the same numbers in a layout, if their values allow it."""
    if tensor.dim() < MIN_DIMENSIONS.get(layout, 1) or not tensor.numel():
        return tensor
    if layout == "strided":
        wide = tensor.new_zeros((*reversed(tensor.shape), 2))
        return wide[..., 0].permute(*reversed(range(tensor.dim()))).copy_(tensor)
    if layout == "sliced":
        wide = tensor.new_zeros((*tensor.shape[:-1], 2 * tensor.shape[-1] + 1))
        return wide[..., 1 : 1 + tensor.shape[-1]].copy_(tensor)
    if layout == "expanded":
        return _expanded(tensor)
    if layout == "transposed":
        return tensor.mT.contiguous().mT
    if layout == "channels_last" and tensor.dim() in _CHANNELS_LAST:
        return tensor.contiguous(memory_format=_CHANNELS_LAST[tensor.dim()])
    if layout == "offset":
        return tensor.new_zeros((1 + len(tensor), *tensor.shape[1:]))[1:].copy_(tensor)
    return tensor


def _expanded(tensor: torch.Tensor) -> torch.Tensor:
    first = tensor[:1]
    if not torch.equal(first.expand_as(tensor), tensor):
        return tensor
    one = tensor.reshape(-1)[:1]
    source = one if torch.equal(one.expand(tensor.numel()), tensor.reshape(-1)) else first
    shape = [1] * tensor.dim() if source is one else list(first.shape)
    return source.clone().reshape(shape).expand_as(tensor)
