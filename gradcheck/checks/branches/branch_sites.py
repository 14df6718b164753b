"""Comparisons: where they stand, their margins and their sides."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gradcheck.autograd.tensor import Tensor

#: Ops that test for equality, or for 0.
EQUALITY_OPS = frozenset(
    (
        *("eq", "ne", "isclose", "to", "any", "all", "count_nonzero"),
        *("logical_not", "logical_and", "logical_or", "logical_xor"),
    )
)
#: A smaller threshold guards against rounding: no derivation is about its other side.
_GUARD = 1e-5


class BranchSite(NamedTuple):
    """One comparison: its entry or claim, its number there, and its op."""

    owner: str
    number: int
    op: str
    #: True if it may be about all elements at once: `(x > 0).all()`.
    is_reduced: bool = False
    #: True if integers are compared, `x.argmax() == 2`: no slope leads there.
    compares_integers: bool = False

    @property
    def sides(self) -> tuple[int, ...]:
        """The sides to visit.

        Some element below or above 0 (-1, 1), or equal and not (0, 1); together, all below, above or equal (-2, 2).
        """
        some = (0, 1) if self.op in EQUALITY_OPS else (-1, 1)
        return some if not self.is_reduced else (*some, 2) if self.op in EQUALITY_OPS else (-2, *some, 2)

    def sign_of(self, side: int) -> int:
        return (1 if side == 1 else 0) if self.op in EQUALITY_OPS else int(np.sign(side))

    def is_on(self, numbers: np.ndarray, side: int) -> bool:
        """Return whether finite numbers of a margin are on this side."""
        known = numbers[np.isfinite(numbers)]
        are = self.elements_on(known, side)
        return bool(known.size and (np.all(are) if abs(side) == 2 else np.any(are)))

    def elements_on(self, numbers: np.ndarray, side: int) -> np.ndarray:
        signs = np.abs(np.sign(numbers)) if self.op in EQUALITY_OPS else np.sign(numbers)
        return np.asarray(signs == self.sign_of(side))


class Margin(NamedTuple):
    """`a - b` of a comparison, tensor or array, and the smaller magnitude."""

    difference: Any
    scale: np.ndarray
    is_stated: bool = False  # a claim spells it out

    @property
    def numbers(self) -> np.ndarray:
        return as_array(self.difference).astype(np.float64)

    @property
    def is_guard(self) -> bool:
        """True if a number only guards against a division by 0."""
        return not self.is_stated and bool(np.all((self.scale > 0) & (self.scale < _GUARD)))


def as_array(margin: Any) -> np.ndarray:
    return np.asarray(margin.data if isinstance(margin, Tensor) else margin)
