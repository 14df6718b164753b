"""Claims that cannot be computed: the failing part and its operands."""

from __future__ import annotations

from dataclasses import replace

from gradcheck.checks.claims.stated_claims import StepClaims
from gradcheck.checks.context import Context
from gradcheck.checks.failures.uncomputable_graph import UncomputablePart, evaluate_by_parts, uncomputable_fact
from gradcheck.checks.result import Comparison
from gradcheck.checks.scope import Scope
from gradcheck.errors import InvalidCase
from gradcheck.facts import fact
from gradcheck.language.case import Case, TextSpan
from gradcheck.language.evaluation.host import NUMPY
from gradcheck.language.expr.nodes import Expr, Name
from gradcheck.language.expr.parser import parse_with_spans


def explain_uncomputable_claims(context: Context) -> None:
    """Add to each uncomputable claim its failing part."""
    for place, c in enumerate(context.found):
        if c.status == "failed" and c.formula and c.mismatch is not None and c.mismatch.kind == "claim_raised":
            context.found[place] = _with_failing_part(context, c)


def _with_failing_part(context: Context, c: Comparison) -> Comparison:
    try:
        root, known = parse_with_spans(c.formula)
    except InvalidCase:  # pragma: no cover (a claim has been read from its text)
        return c
    point = context.points.at(c.trial)
    scope = StepClaims(point, c.step, context.options.tolerance).scope
    found = _find_failing_part(context.case, "", root, scope)
    if found is None or c.mismatch is None:
        return c
    message = fact("claim_raised", error=c.mismatch["error"], text=c.mismatch["text"], told=uncomputable_fact(found))
    span = known.get(id(found.part))
    if span is None or found.entry:
        return replace(c, mismatch=message)
    return replace(c, mismatch=message, part=TextSpan(c.formula, *span))


def _find_failing_part(case: Case, step: str, expr: Expr, scope: Scope) -> UncomputablePart | None:
    """Return the part that fails, inside the derivation step that holds it."""
    found = evaluate_by_parts(step, expr, scope, NUMPY, scope.gradients)
    while isinstance(found, UncomputablePart) and isinstance(found.part, Name) and found.part.name in case.let:
        step = found.part.name
        found = evaluate_by_parts(step, case.let[step].expr, scope, NUMPY, scope.gradients)
    return found if isinstance(found, UncomputablePart) else None
