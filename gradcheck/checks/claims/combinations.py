"""Try unproved formulas at new combinations of two comparisons' outcomes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gradcheck.autograd.dtypes import wide
from gradcheck.checks.claims.formulas import check_formula
from gradcheck.checks.claims.stated_claims import StepClaims
from gradcheck.checks.context import Context
from gradcheck.checks.points.degenerate import degeneracy, is_usable
from gradcheck.checks.result import Comparison
from gradcheck.language.case import Claim
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.language.problem import Problem
from gradcheck.language.trial_draws import is_general, mentions_root_gradient


def applies(context: Context) -> bool:
    """Return whether a general formula is neither proved nor refuted."""
    has_trials = is_general(context.case) and context.options.trials != 0
    return has_trials and any(c.has_note("not_proved") for c in context.found)


def check(context: Context) -> Iterator[Comparison]:
    """Check each unproved formula at such points until it fails."""
    from gradcheck.checks.branches.branch_pairs import unvisited_pairs
    from gradcheck.checks.branches.margin_recording import branching_owners

    owners = branching_owners(context.case)
    for name, listed in context.case.formulas.items() if owners else ():
        for claim in listed:
            of_claim = {*context.case.let_steps_of(claim.expr), claim.text} & owners
            if not of_claim or not _is_unproved(context, name, claim):
                continue
            known = [p for p in (context.points.own, *context.points.other_points) if p.is_complete]
            places = [p for p in known if p.problem.sizes == context.points.own.problem.sizes or p.trial is None]
            among = {*of_claim, *(owners & context.case.graph.keys())}
            for problem in unvisited_pairs([*places, *known[len(places) :]][:12], among, of_claim):
                found = _check_at(context, problem, name, claim)
                if found is not None and found.status == "failed":
                    yield found
                    break


def _is_unproved(context: Context, name: str, claim: Claim) -> bool:
    of_it = [c for c in context.found if c.what is ClaimKind.FORMULA and (c.tensor, c.formula) == (name, claim.text)]
    return any(c.has_note("not_proved") for c in of_it) and not any(c.is_failing for c in of_it)


def _check_at(context: Context, problem: Problem, name: str, claim: Claim) -> Comparison | None:
    """Check the formula there; None if the point is not usable."""
    points = context.points
    number = 1 + max((point.trial.number for point in points.other_points if point.trial), default=0)
    point = points.branch_point(problem, number)
    moved = point.problem.draw_settings.variation.incoming
    if not is_usable(point) or (moved and not mentions_root_gradient(context.case, claim.expr)):
        return None
    found = check_formula(StepClaims(point, point.last_step, context.options.tolerance), name, claim)
    if found.status != "failed" or degeneracy(point, [found]) is not None:
        return None
    if found.mask is None or found.got_array is None or np.isnan(wide(found.got_array)[found.mask]).all():
        return None
    points.variants.append(point)
    return found
