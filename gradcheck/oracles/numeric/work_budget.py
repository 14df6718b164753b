"""The cost of numeric evaluations, counted, not timed.

So any two machines examine the same elements. The unit of work is one element of an op's result, some five nanoseconds.
Applying an op costs `PER_OP` besides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isqrt, prod

from gradcheck.autograd.families import CONTRACTIONS
from gradcheck.autograd.op import Op

#: The cost of applying an op of any size.
PER_OP = 2_000
#: The multiply-adds of a matrix product that cost as much as one element.
_MULTIPLY_ADDS = 32


@dataclass(slots=True)
class Work:
    """The work of one evaluation of a forward."""

    ops: int = 0
    elements: int = 0

    def add(self, op: Op, operands: Sequence[int], result: int) -> None:
        """Add an op on floating arrays of these sizes.

        A product of matrices takes as many multiply-adds as the root of the product of all three sizes, a decomposition
        about the third power of a matrix's side.
        """
        elements = max(result, *operands, 1)
        if op.name in CONTRACTIONS:
            elements = max(elements, isqrt(prod(operands) * result) // _MULTIPLY_ADDS)
        elif op.name.startswith("linalg."):
            elements = isqrt(elements**3)
        self.ops += 1
        self.elements += elements

    def cost(self, evaluations: int = 1, slowdown: int = 1) -> int:
        """Return the work of several evaluations in slower arithmetic."""
        return evaluations * (self.ops * PER_OP + slowdown * self.elements)


class WorkBudget:
    """An amount of work; spending it also spends that of its parent."""

    def __init__(self, work: int, within: WorkBudget | None = None) -> None:
        self.left, self.parent = work, within

    @property
    def is_spent(self) -> bool:
        return self.left <= 0 or (self.parent is not None and self.parent.is_spent)

    def spend(self, work: int) -> None:
        """Spend this much, even if less is left."""
        self.left -= work
        if self.parent is not None:
            self.parent.spend(work)
