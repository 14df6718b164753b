"""Formulas, checks and steps of a derivation that cannot be computed: which part, and of which operands."""

from __future__ import annotations

from dataclasses import replace

from gradcheck.checks.claims.stated_claims import Claims
from gradcheck.checks.context import Context
from gradcheck.checks.failures.uncomputable_graph import Refusal, as_fact, refused_part
from gradcheck.checks.result import Comparison
from gradcheck.checks.scope import Scope
from gradcheck.errors import InvalidCase
from gradcheck.facts import fact
from gradcheck.language.case import Case, Part
from gradcheck.language.evaluation.host import NUMPY
from gradcheck.language.expr.nodes import Expr, Name
from gradcheck.language.expr.parser import spans


def tell_refused(context: Context) -> None:
    """Say of each claim that cannot be computed where in it, and in the case's own names why."""
    for place, c in enumerate(context.found):
        if c.status == "failed" and c.formula and c.mismatch is not None and c.mismatch.kind == "claim_raised":
            context.found[place] = _told(context, c)


def _told(context: Context, c: Comparison) -> Comparison:
    try:
        root, known = spans(c.formula)
    except InvalidCase:  # pragma: no cover (a claim has been read from its text)
        return c
    point = context.points.at(c.trial)
    scope = Claims(point, c.step, context.options.tolerance).scope
    found = _refusal(context.case, "", root, scope)
    if found is None or c.mismatch is None:
        return c
    told = fact("claim_raised", error=c.mismatch["error"], text=c.mismatch["text"], told=as_fact(found))
    span = known.get(id(found.part))
    if span is None or found.entry:
        return replace(c, mismatch=told)
    return replace(c, mismatch=told, part=Part(c.formula, *span))


def _refusal(case: Case, step: str, expr: Expr, scope: Scope) -> Refusal | None:
    """The part that cannot be computed, in a step of the derivation where that is where it is."""
    found = refused_part(step, expr, scope, NUMPY, scope.gradients)
    while isinstance(found, Refusal) and isinstance(found.part, Name) and found.part.name in case.let:
        step = found.part.name
        found = refused_part(step, case.let[step].expr, scope, NUMPY, scope.gradients)
    return found if isinstance(found, Refusal) else None
