"""Modes of a call that must not change its result.

They vary the memory layout of inputs and incoming gradients, and the calls in between.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch

#: A tensor's layout in memory: contiguous; transposed with gaps between numbers; a part of a larger one with gaps
#: between rows; or one number, or row, expanded to all.
Layout = Literal["plain", "strided", "sliced", "expanded"]


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

    @property
    def is_not_plain(self) -> bool:
        return self != CallMode()


PLAIN_CALL = CallMode()


def with_layout(tensor: torch.Tensor, layout: Layout) -> torch.Tensor:
    """Return the same numbers in a layout, if their values allow it."""
    if layout == "strided" and tensor.dim():
        wide = torch.zeros((*reversed(tensor.shape), 2), dtype=tensor.dtype)
        view = wide[..., 0].permute(*reversed(range(tensor.dim())))
        return view.copy_(tensor)
    if layout == "sliced" and tensor.dim():
        wide = torch.zeros((*tensor.shape[:-1], 2 * tensor.shape[-1] + 1), dtype=tensor.dtype)
        return wide[..., 1 : 1 + tensor.shape[-1]].copy_(tensor)
    if layout == "expanded" and tensor.dim() and tensor.numel():
        first = tensor[:1]
        if torch.equal(first.expand_as(tensor), tensor):
            one = tensor.reshape(-1)[:1]
            source = one if torch.equal(one.expand(tensor.numel()), tensor.reshape(-1)) else first
            shape = [1] * tensor.dim() if source is one else list(first.shape)
            return source.clone().reshape(shape).expand_as(tensor)
    return tensor
