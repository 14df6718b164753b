"""Why formulas, and steps of a derivation, are wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gradcheck.checks.claims.formulas import check_formula
from gradcheck.checks.claims.stated_claims import Claims
from gradcheck.checks.context import Context
from gradcheck.checks.failures.gather_evidence import MORE_POINTS, evidence_of_formula
from gradcheck.checks.failures.explanation_points import ExplainingPoints
from gradcheck.checks.failures.size_factor import tested
from gradcheck.checks.failures.point_failures import why
from gradcheck.checks.failures.wrong_steps import claims_at, mended, with_reason, wrong_formulas
from gradcheck.checks.points.point import Point
from gradcheck.language.case import Claim

#: So many formulas of one case are diagnosed.
MOST = 6
#: At so many more points of the same sizes what is told must hold.
_ELSEWHERE = 6


def explain_formulas(context: Context, points: ExplainingPoints) -> None:
    """Add to each what mistake gives its numbers wherever it is looked at."""
    found = wrong_formulas(context)[:MOST]
    elsewhere = claims_at(context, points) if found else []
    for place, c, claim in found:
        case = mended(context, c)
        looked_at = (point.claiming(case) for point in _points(context, points, c.tensor, claim))
        diagnoses = why(evidence_of_formula(c.tensor, claim, looked_at))
        claimed = [replace(one, point=one.point.claiming(case)) for one in elsewhere]
        diagnoses = tested(diagnoses, claimed, c.tensor, claim)
        context.found[place] = replace(c, diagnoses=diagnoses, cause=with_reason(c.cause, diagnoses))


def _points(context: Context, points: ExplainingPoints, name: str, claim: Claim) -> Iterator[Point]:
    """Where a formula is looked at: first where it is wrong, of the case's own sizes if there it is, then nearby, then
    at all others of the same sizes, where it may be right."""
    speaking, own = points.is_speaking(claim.expr), points.run.own.problem.sizes
    failed = {(name, claim.text)}
    listed = sorted(points.fixed(speaking), key=lambda p: p.problem.sizes != own) + points.of_run(speaking)

    def is_wrong(point: Point) -> bool:
        claims = Claims(point, point.last, context.options.tolerance, failed)
        return check_formula(claims, name, claim).status == "failed"

    first = next((point for point in listed if is_wrong(point)), None)
    if first is None:
        return
    for number in range(MORE_POINTS + 1):
        yield points.run.nearby(first, number)
    others = [p for p in listed if p is not first and p.problem.sizes == first.problem.sizes]
    yield from others[:_ELSEWHERE]
