"""Why formulas, and steps of a derivation, are wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gradcheck.checks.claims.formulas import check_formula
from gradcheck.checks.claims.stated_claims import StepClaims
from gradcheck.checks.context import Context
from gradcheck.checks.failures.explanation_points import ExplanationPoints
from gradcheck.checks.failures.gather_evidence import MORE_POINTS, evidence_of_formula
from gradcheck.checks.failures.point_failures import diagnose
from gradcheck.checks.failures.size_factor import check_at_other_sizes
from gradcheck.checks.failures.wrong_steps import case_with_fixed_steps, claims_at, with_missing_factor, wrong_formulas
from gradcheck.checks.points.point import Point
from gradcheck.language.case import Claim

#: So many formulas of one case are diagnosed.
MAX_FORMULAS = 6
#: At so many more points of the same sizes what is told must hold.
_ELSEWHERE = 6


def explain_formulas(context: Context, points: ExplanationPoints) -> None:
    """Add to each what mistake gives its numbers wherever it is looked at."""
    found = wrong_formulas(context)[:MAX_FORMULAS]
    elsewhere = claims_at(context, points) if found else []
    for place, c, claim in found:
        case = case_with_fixed_steps(context, c)
        looked_at = (point.with_claims(case) for point in _points(context, points, c.tensor, claim))
        diagnoses = diagnose(evidence_of_formula(c.tensor, claim, looked_at))
        claimed = [replace(one, point=one.point.with_claims(case)) for one in elsewhere]
        diagnoses = check_at_other_sizes(diagnoses, claimed, c.tensor, claim)
        context.found[place] = replace(c, diagnoses=diagnoses, cause=with_missing_factor(c.cause, diagnoses))


def _points(context: Context, points: ExplanationPoints, name: str, claim: Claim) -> Iterator[Point]:
    """Where a formula is looked at: first where it is wrong, of the case's own sizes if there it is, then nearby, then
    at all others of the same sizes, where it may be right."""
    speaking, own = points.must_vary_incoming(claim.expr), points.run.own.problem.sizes
    failed = {(name, claim.text)}
    listed = sorted(points.seed_independent(speaking), key=lambda p: p.problem.sizes != own) + points.points_of_run(
        speaking
    )

    def is_wrong(point: Point) -> bool:
        claims = StepClaims(point, point.last_step, context.options.tolerance, failed)
        return check_formula(claims, name, claim).status == "failed"

    first = next((point for point in listed if is_wrong(point)), None)
    if first is None:
        return
    for number in range(MORE_POINTS + 1):
        yield points.run.nearby_point(first, number)
    others = [p for p in listed if p is not first and p.problem.sizes == first.problem.sizes]
    yield from others[:_ELSEWHERE]
