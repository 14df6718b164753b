"""Formulas that are made of gradients which the reference has wrong: held to an engine that has them right."""

from __future__ import annotations

import numpy as np

from gradcheck.autograd.dtypes import wide
from gradcheck.checks.closeness.tolerance import Tolerance
from gradcheck.checks.context import Context
from gradcheck.checks.points.point import Point
from gradcheck.checks.result import Comparison
from gradcheck.checks.scope import Scope
from gradcheck.errors import GradcheckError
from gradcheck.facts import Fact
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.language.expr.traverse import gradient_names


def reference_error_verdict(context: Context, point: Point, c: Comparison) -> Fact | None:
    """The verdict on the reference, where a formula speaks of a gradient that it has wrong and holds by the engine that
    has it right; else None."""
    claim = next((f for f in context.case.formulas.get(c.tensor, ()) if f.text == c.formula), None)
    if c.what is not ClaimKind.FORMULA or claim is None:
        return None
    exprs = (claim.expr, *(context.case.let[step].expr for step in context.case.let_steps_of(claim.expr)))
    spoken = {name for expr in exprs for name in gradient_names(expr)}
    for other in context.found:
        verdict = other.verdict
        is_wrong = other.what is ClaimKind.GRADIENT and verdict is not None and verdict.kind == "reference_wrong"
        if is_wrong and other.tensor in spoken and _holds_by(other.engine, context, point, c):
            return verdict
    return None


def _holds_by(name: str, context: Context, point: Point, c: Comparison) -> bool:
    engine = next((engine for engine in context.engines.tested if engine.name == name), None)
    states = () if engine is None else point.evaluation(engine).states
    claim = next(f for f in context.case.formulas[c.tensor] if f.text == c.formula)
    if c.step >= len(states):
        return False
    scope = Scope(point.problem, states[c.step])
    try:
        got, want = wide(scope.array_of(claim.expr)), scope.gradients.get(c.tensor)
    except GradcheckError:
        return False
    if want is None or got.shape != want.shape:
        return False
    room = Tolerance.of(c).allowed(np.abs(wide(want)))
    slack = point.conditioning.allowance(ClaimKind.GRADIENT, c.step, c.tensor)
    return bool(np.all(np.abs(got - wide(want)) <= room + (0.0 if slack is None else slack)))
