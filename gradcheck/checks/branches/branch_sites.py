"""One comparison: where it stands, its margin, and which sides of it there are."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gradcheck.autograd.tensor import Tensor

#: What asks whether numbers are equal, or whether they are 0.
EQUALITY_OPS = frozenset(
    (
        "eq",
        "ne",
        "isclose",
        "to",
        "logical_not",
        "logical_and",
        "logical_or",
        "logical_xor",
        "any",
        "all",
        "count_nonzero",
    )
)
#: A threshold below this is there for numbers' sake: nobody means to derive what is beyond it.
_GUARD = 1e-5


class BranchSite(NamedTuple):
    """One comparison: of an entry of the graph or a claim, the how-manieth there, and by which op."""

    owner: str
    number: int
    op: str
    #: Whether what is asked may be about all elements at once: `(x > 0).all()`.
    is_reduced: bool = False
    #: Whether whole numbers are compared, `x.argmax() == 2`, which no slope leads to.
    compares_integers: bool = False

    @property
    def sides(self) -> tuple[int, ...]:
        """Which are to be visited: where some element is below or above 0 (-1, 1), or equal and not (0, 1); together,
        where all are below, above or equal (-2, 2)."""
        some = (0, 1) if self.op in EQUALITY_OPS else (-1, 1)
        return some if not self.is_reduced else (*some, 2) if self.op in EQUALITY_OPS else (-2, *some, 2)

    def sign_of(self, side: int) -> int:
        """The sign of the margin on this side."""
        return (1 if side == 1 else 0) if self.op in EQUALITY_OPS else int(np.sign(side))

    def is_on(self, numbers: np.ndarray, side: int) -> bool:
        """Whether a margin of these numbers is on this side; those that are not finite say nothing."""
        known = numbers[np.isfinite(numbers)]
        are = self.elements_on(known, side)
        return bool(known.size and (np.all(are) if abs(side) == 2 else np.any(are)))

    def elements_on(self, numbers: np.ndarray, side: int) -> np.ndarray:
        """Which elements are."""
        signs = np.abs(np.sign(numbers)) if self.op in EQUALITY_OPS else np.sign(numbers)
        return np.asarray(signs == self.sign_of(side))


class Margin(NamedTuple):
    """`a - b` where `a` and `b` are compared, a tensor or an array, and how large the smaller one is."""

    difference: Any
    scale: np.ndarray
    is_stated: bool = False  # a claim spells it out

    @property
    def numbers(self) -> np.ndarray:
        """The difference in double precision."""
        return as_array(self.difference).astype(np.float64)

    @property
    def is_guard(self) -> bool:
        """Whether something is compared with a number that only guards against a division by 0."""
        return not self.is_stated and bool(np.all((self.scale > 0) & (self.scale < _GUARD)))


def as_array(margin: Any) -> np.ndarray:
    """The numbers of a margin, tensor or not."""
    return np.asarray(margin.data if isinstance(margin, Tensor) else margin)
