"""The claims of a case about Jacobians and Hessians."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gradcheck.language.case import DERIVATIVE_SECTIONS, Case, Claim
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.language.expr.nodes import Derivative


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
