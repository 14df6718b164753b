"""Refute wrong formulas, which must fail somewhere or have a wrong shape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gradcheck.checks.claims.formulas import check_formula
from gradcheck.checks.claims.stated_claims import StepClaims
from gradcheck.checks.claims.undefined_formulas import is_undefined
from gradcheck.checks.closeness.compare import is_all_nan_or_empty
from gradcheck.checks.points.point import Point
from gradcheck.checks.result import Comparison
from gradcheck.facts import fact
from gradcheck.language.case import Claim, StatedTolerance
from gradcheck.language.claim_kind import ClaimKind

#: Kinds of errors that refute a formula by its shape.
_REFUTES = ("shape_mismatch", "index_out_of_range")


@dataclass(slots=True)
class WrongFormula:
    """A formula that must be refuted, and the comparison that did it."""

    name: str
    claim: Claim
    points_held: int = 0  # points at which it was right
    last_comparison: Comparison | None = None
    refutation: Comparison | None = None

    def try_at(self, claims: StepClaims) -> None:
        """Check it at one more point, unless it is refuted."""
        if self.refutation is not None:
            return
        found = check_formula(claims, self.name, self.claim, ClaimKind.WRONG_FORMULA)
        self.last_comparison = found
        if claims.point.trial is not None and is_undefined(found):
            return  # it may be right elsewhere, and undefined numbers come by chance
        if found.status == "failed" and _is_refutation(found):
            self.refutation = found
        elif not is_all_nan_or_empty(found):
            self.points_held += 1

    def verdict(self) -> Comparison:
        """Return a passing comparison if it was refuted."""
        if self.refutation is not None:
            how = self.refutation.mismatch
            if how is None:
                how = fact("elements_differ", mismatched=self.refutation.mismatched, elements=self.refutation.elements)
            return replace(self.refutation, status="passed", mismatch=fact("refuted", how=how))
        assert self.last_comparison is not None
        if self.last_comparison.status == "failed":
            return self.last_comparison
        return replace(
            self.last_comparison, status="failed", mismatch=fact("not_refuted", points=self.points_held)
        ).with_subject(trial=None)


def _is_refutation(found: Comparison) -> bool:
    """Return whether numbers or the shape differ, not an op's arguments."""
    if found.mask is not None or found.got_array is not None:
        return True
    mismatch = found.mismatch
    return mismatch is not None and mismatch.kind == "claim_raised" and mismatch["error"] in _REFUTES


def try_to_refute(wrong: Sequence[WrongFormula], point: Point, run: StatedTolerance | None) -> None:
    claims = StepClaims(point, point.last_step, run)
    for one in wrong:
        one.try_at(claims)
