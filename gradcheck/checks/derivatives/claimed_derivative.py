"""Claims of Jacobians and Hessians; with the right one, at a point."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gradcheck.autograd.dtypes import wide
from gradcheck.checks.derivatives.entry_mistakes import ALIKE, Entries
from gradcheck.checks.points.point import Point
from gradcheck.errors import GradcheckError
from gradcheck.language.case import DERIVATIVE_SECTIONS, Case, Claim
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.language.expr.nodes import Derivative, Expr

#: The precision in which claims of low precision are compared.
_IN_LOW_PRECISION = 1e-2
#: The most entries of a derivative that are searched for a mistake.
MOST_ENTRIES = 1_000_000
_DOUBLE = np.dtype(np.float64).itemsize


@dataclass(frozen=True)
class ClaimedDerivative(Entries):
    """The claimed and the right entries at one point of a case.

    `derive` returns the derived formula, or raises GradcheckError."""

    stated: StatedDerivative
    point: Point
    derive: Callable[[], Expr]

    @property
    def gradients(self) -> Mapping[str, np.ndarray]:
        """Gradients by tensor, and Jacobians and Hessians by their text."""
        return self.point.scope(self.point.last_step).gradients


def claimed_at(point: Point, stated: StatedDerivative, derive: Callable[[], Expr]) -> ClaimedDerivative | None:
    """Return both sides at a point; None if not finite, or too large."""
    try:
        scope = point.scope(point.last_step)
        got, want = (wide(one) for one in (scope.array_of(stated.claim.expr), scope.gradients[stated.term.name]))
    except (GradcheckError, LookupError):
        return None
    if max(got.size, want.size) > MOST_ENTRIES or not np.isfinite(got).all() or not np.isfinite(want).all():
        return None
    within = ALIKE if point.problem.dtype.itemsize >= _DOUBLE else _IN_LOW_PRECISION
    rank = want.ndim - point.want.states[-1].values[stated.by].ndim
    return ClaimedDerivative(got, want, rank, stated.term.name, within, stated, point, derive)


class StatedDerivative(NamedTuple):
    """One claim: `term` is `jacobian(y, x)` or `hessian(f, x, z)`."""

    what: ClaimKind
    term: Derivative
    claim: Claim

    @property
    def of(self) -> str:
        """The tensor that is differentiated."""
        return self.term.tensors[0]

    @property
    def rows(self) -> str:
        """The tensor whose elements are the rows."""
        return self.term.tensors[1 if self.is_hessian else 0]

    @property
    def by(self) -> str:
        """The tensor whose elements are the columns."""
        return self.term.tensors[-1]

    @property
    def is_hessian(self) -> bool:
        return self.term.kind == "hessian"


def stated_derivatives(case: Case) -> Iterator[StatedDerivative]:
    """Yield the claims in the order of the sections."""
    for section in DERIVATIVE_SECTIONS:
        what = ClaimKind(section.removesuffix("s"))
        for of, entries in getattr(case, section).items():
            for by, claims in entries.items():
                term = Derivative.of(what.removeprefix("wrong_"), of, *by.split(", "))
                yield from (StatedDerivative(what, term, claim) for claim in claims)
