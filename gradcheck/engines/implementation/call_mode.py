"""In what manner code is asked: how inputs and incoming gradients lie in memory, and what happens in between. What
comes out must not depend on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch

#: How a tensor lies in memory: as it comes; with its dimensions the other way round and a gap between numbers; as a
#: part of a larger one, whose rows are further apart; or as one number, or row, that stands for all.
Layout = Literal["plain", "strided", "sliced", "expanded"]


@dataclass(frozen=True, slots=True)
class CallMode:
    """`between` has the code called with other numbers between its forward and its backward; `recording` is off where
    no gradient is wanted, `tracked` where no input asks for one; `apart` asks for gradients without accumulating any
    (`torch.autograd.grad`)."""

    inputs: Layout = "plain"
    incoming: Layout = "plain"
    calls_in_between: bool = False
    records_graph: bool = True
    requires_grad: bool = True
    without_accumulation: bool = False

    @property
    def is_not_plain(self) -> bool:
        """Whether it is not the plain one."""
        return self != CallMode()


PLAIN_CALL = CallMode()


def with_layout(tensor: torch.Tensor, layout: Layout) -> torch.Tensor:
    """The same numbers, so laid out; as they are where numbers that must be equal for it are not."""
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
