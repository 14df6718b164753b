"""Compare formulas of gradients with the reference's at one point."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from gradcheck.checks.claims.stated_claims import StepClaims, align_dtypes, check_identity
from gradcheck.checks.closeness.overflow import leaves_range
from gradcheck.checks.closeness.rounding import recheck_in_double_precision, recheck_roughly, recheck_with_rounding
from gradcheck.checks.context import Context
from gradcheck.checks.points.degenerate import is_nowhere_defined, pass_as_out_of_range, pass_as_undefined
from gradcheck.checks.points.point import Point
from gradcheck.checks.result import Comparison
from gradcheck.checks.scope import Scope
from gradcheck.errors import GradcheckError
from gradcheck.facts import fact
from gradcheck.language.case import Claim
from gradcheck.language.claim_kind import ClaimKind


def applies(context: Context) -> bool:
    """Return whether there are formulas, and the reference ran every step."""
    return bool(context.case.formulas) and context.can_be_checked and context.points.own.is_complete


def check(context: Context) -> Iterator[Comparison]:
    """Check each formula at the case's own numbers."""
    yield from check_formulas(StepClaims(context.points.own, context.points.own.last_step, context.options.tolerance))


def check_formulas(claims: StepClaims) -> Iterator[Comparison]:
    """Check each formula at the claims' point."""
    for name, listed in claims.case.formulas.items():
        for claim in listed:
            yield check_formula(claims, name, claim)


def check_general(claims: StepClaims) -> Iterator[Comparison]:
    """Check formulas and top-level checks, which must hold at any numbers."""
    yield from check_formulas(claims)
    for claim in claims.case.checks:
        yield check_identity(claims, claim)


def check_formula(claims: StepClaims, name: str, claim: Claim, what: ClaimKind = ClaimKind.FORMULA) -> Comparison:
    """Check one formula; if it fails, again with what rounding may explain."""
    found = _compare_formula(claims, name, claim, what)
    if found.status != "failed" or found.mask is None:
        return found
    conditioning = claims.point.conditioning
    if is_nowhere_defined(claims.point, claims.step):
        return pass_as_undefined(found)
    if (name, claim.text) in claims.known_failures and not conditioning.may_explain(found):
        return found
    noise = conditioning.rough_rounding.noise_of_claim(claims.step, difference_of(name, claim))
    known = recheck_roughly(found, noise, conditioning)
    if known is not None:
        return known
    if what is ClaimKind.FORMULA or conditioning.may_explain(found):
        found = recheck_with_rounding(found, formula_allowance(claims.point, claims.step, name, claim), conditioning)
    if found.status != "passed" and what is ClaimKind.FORMULA and conditioning.is_of_low_precision:
        return recheck_in_double_precision(found, conditioning.in_double_precision(), difference_of(name, claim))
    if found.status == "undecided" and leaves_range(claims.point.problem):
        return pass_as_out_of_range(found, found.reference)
    return found


def formula_allowance(point: Point, step: int, name: str, claim: Claim) -> np.ndarray | None:
    """Return how far rounding may take each element; None if unknown."""
    found = point.conditioning.claim_allowances(step, difference_of(name, claim))
    return found[0] if found else None


def difference_of(name: str, claim: Claim) -> Callable[[Scope], list[np.ndarray]]:
    """Return a function of a scope: the formula minus the gradient."""

    def difference(scope: Scope) -> list[np.ndarray]:
        got, want = align_dtypes(scope.array_of(claim.expr), scope.gradients[name])
        return [got - want]

    return difference


def _compare_formula(claims: StepClaims, name: str, claim: Claim, what: ClaimKind) -> Comparison:
    """Compare a formula; one that cannot be evaluated fails."""
    subject = claims.subject(what, name, claim.place, formula=claim.text)
    if name not in claims.scope.gradients:
        return subject.failed(fact("says_nothing", engine=subject.reference, tensor=name))
    want = claims.scope.gradients[name]
    try:
        got = claims.scope.array_of(claim.expr)
    except GradcheckError as error:
        failed = subject.failed(fact("claim_raised", error=error.kind, text=str(error), told=None), want_array=want)
        return replace(failed, shape=want.shape, dtype=want.dtype.name, elements=want.size, mismatched=want.size)
    found = claims.compare(*align_dtypes(got, want), subject)
    return found if want.size else found.with_notes(fact("no_elements"))
