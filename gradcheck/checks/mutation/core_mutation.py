"""A mutation of the core: one thing that its reverse sweep does wrong, and nothing else: no rule in the table, no other
evaluation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from gradcheck.autograd.backward import Pull
from gradcheck.autograd.op import Op
from gradcheck.autograd.tensor import Tensor
from gradcheck.facts import Fact

#: What a tensor hands down: for each use, whom to, and the gradient.
Shares = list[tuple[Tensor, np.ndarray]]


@dataclass(frozen=True, slots=True)
class Mutation:
    """What is made wrong, and where. `wrap` is given the roots and the sweep's `pull`, and gives the wrong one. One of
    a rule shows in its `op` alone too, wherever that is applied; one that `overwrites` is between passes."""

    kind: Fact
    where: Fact
    wrap: Callable[[Sequence[Tensor], Pull], Pull] = field(default=lambda roots, pull: pull, compare=False)
    op: Op | None = None
    overwrites: bool = False


def positions(tensor: Tensor) -> list[int]:
    """Which argument of its op each of the shares that a tensor hands down belongs to."""
    op = tensor.creation_op
    found: list[int] = []
    for position, arg in enumerate(tensor.arguments):
        if op is not None and position == op.sequence:
            found += [position for item in arg if type(item) is Tensor and item.requires_grad]
        elif type(arg) is Tensor and arg.requires_grad:
            found.append(position)
    return found
