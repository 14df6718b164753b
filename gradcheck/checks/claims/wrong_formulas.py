"""Derivations that are to be refuted: wrong at one point at least, or of the wrong shape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gradcheck.checks.claim_kind import ClaimKind
from gradcheck.checks.claims.undefined_formulas import is_undefined
from gradcheck.checks.claims.formulas import check_formula
from gradcheck.checks.claims.stated_claims import Claims
from gradcheck.checks.points.point import Point
from gradcheck.checks.result import Comparison
from gradcheck.facts import fact
from gradcheck.language.case import Claim, StatedTolerance

#: Of these kinds of error a derivation is refuted: its shape is wrong.
_REFUTES = ("shape_mismatch", "index_out_of_range")


@dataclass(slots=True)
class WrongFormula:
    """A derivation that is to be refuted: at how many points it held, and the comparison that refuted it."""

    name: str
    claim: Claim
    held: int = 0
    last: Comparison | None = None
    refuted: Comparison | None = None

    def attempt(self, claims: Claims) -> None:
        """Try it at one more point, unless it is refuted already."""
        if self.refuted is not None:
            return
        found = check_formula(claims, self.name, self.claim, ClaimKind.WRONG_FORMULA)
        self.last = found
        if claims.point.trial is not None and is_undefined(found):
            return  # whether numbers are drawn at which it is undefined is chance, and elsewhere it may be right
        if found.status == "failed" and _is_refutation(found):
            self.refuted = found
        elif not says_nothing(found):
            self.held += 1

    def verdict(self) -> Comparison:
        """Passed if it was wrong somewhere."""
        if self.refuted is not None:
            how = self.refuted.mismatch
            if how is None:
                how = fact("elements_differ", mismatched=self.refuted.mismatched, elements=self.refuted.elements)
            return replace(self.refuted, status="passed", mismatch=fact("refuted", how=how))
        assert self.last is not None
        if self.last.status == "failed":
            return self.last
        return replace(self.last, status="failed", mismatch=fact("not_refuted", points=self.held)).about(trial=None)


def _is_refutation(found: Comparison) -> bool:
    """A difference in numbers or shape; not an op called with arguments that it does not take."""
    if found.mask is not None or found.got_array is not None:
        return True
    mismatch = found.mismatch
    return mismatch is not None and mismatch.kind == "claim_raised" and mismatch["error"] in _REFUTES


def says_nothing(found: Comparison) -> bool:
    """Whether every element is NaN on both sides, or there are none."""
    if found.elements == 0:
        return True
    return any(note.kind == "nans_agree" and note["count"] == found.elements for note in found.notes)


def try_to_refute(wrong: Sequence[WrongFormula], point: Point, run: StatedTolerance | None) -> None:
    claims = Claims(point, point.last, run)
    for one in wrong:
        one.attempt(claims)
