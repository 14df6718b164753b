"""Slips in steps of a derivation that are no named tensor's gradient.

For `dA` in `H: relu(X @ W + b)` there is no right value. But undoing a slip in it makes all formulas right that use
the step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from gradcheck.checks.claims.stated_claims import StepClaims
from gradcheck.checks.context import Context
from gradcheck.checks.failures.correction.edit_cause import edit_cause
from gradcheck.checks.failures.correction.edit_position import operands_of
from gradcheck.checks.failures.correction.edits import all_single_edits
from gradcheck.checks.failures.correction.expression_pool import ExpressionPool
from gradcheck.checks.failures.correction.formula_search import MAX_PARTS
from gradcheck.checks.failures.correction.suggestion import MAX_SCOPES, Suggester, did_you_mean
from gradcheck.checks.failures.correction.tidy_formula import DerivedFormulas, has_constant_condition
from gradcheck.checks.failures.explanation_points import ExplanationPoints
from gradcheck.checks.failures.wrong_steps import (
    blame_step,
    claims_at,
    is_failed_formula,
    is_right_everywhere,
    right_steps,
    scope_with_steps,
)
from gradcheck.checks.result import MEANT
from gradcheck.facts import Fact
from gradcheck.language.case import Case, Claim
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.language.expr.nodes import Name
from gradcheck.language.expr.parser import parse
from gradcheck.language.expr.printer import to_text

#: The most edits of a step that are tried, and verified.
_TRIED, _VERIFIED = 3_000, 6
#: A tensor, and a formula for its gradient.
_Formula = tuple[str, Claim]


@dataclass(frozen=True, slots=True)
class _FixedStep:
    name: str
    text: str
    case: Case
    certainty: Fact


def blame_slips_in_steps(context: Context, points: ExplanationPoints, derived: DerivedFormulas) -> None:
    """Add a comparison for each step whose slip alone makes formulas fail."""
    case = context.case
    if not case.let or case.is_expected_to_fail or not context.points.own.is_complete:
        return
    failed = {(c.tensor, c.formula) for c in context.found if is_failed_formula(c) and c.consequence_of is None}
    formulas = [(name, claim) for name, listed in case.formulas.items() for claim in listed]
    waiting = [(name, claim) for name, claim in formulas if (name, claim.text) in failed]
    if not waiting:
        return
    claims, suggester = claims_at(context, points), Suggester(context, points, derived)
    right = right_steps(context, claims)
    for step in (step for step in case.let if step not in right):
        using = [(name, claim) for name, claim in formulas if step in case.let_steps_of(claim.expr)]
        if not using or any(formula not in waiting for formula in using):
            continue
        found = _fix_step(suggester, step, using, claims)
        if found is not None and not (len(using) == 1 and _is_near(suggester, using[0])):
            _report_step(context, found, using, claims[0])
            waiting = [formula for formula in waiting if formula not in using]


def _is_near(suggester: Suggester, formula: _Formula) -> bool:
    """Return whether a right formula is near this one, with unchanged steps."""
    name, claim = formula
    suggester.case = suggester.context.case
    found = suggester.suggestion(name, claim)
    return found is not None and found.kind == "did_you_mean"


def _fix_step(
    suggester: Suggester, step: str, using: Sequence[_Formula], claims: Sequence[StepClaims]
) -> _FixedStep | None:
    """Return the step with its likeliest slip undone if that fixes formulas."""
    case = suggester.context.case
    scopes = [scope_with_steps(case, case.let, one) for one in claims]
    pool = ExpressionPool(scopes[0], scopes[0].gradients)
    root = pool.add(case.let[step].expr)
    shape = np.shape(pool.value(root)) if pool.array(root) is not None else None
    if shape is None or sum(1 for _ in pool.positions(root)) > MAX_PARTS:
        return None
    before = replace(case, let=dict(list(case.let.items())[: list(case.let).index(step)]))
    derived = [expr for name, _ in using for expr in suggester.derived.of(name)]  # with what may be missing
    operands = operands_of(pool, before, step, derived, scopes[:MAX_SCOPES])
    fitting: list[tuple[float, int, str]] = []
    seen = {root}
    for part, _, cost in all_single_edits(pool, operands, root):
        array = pool.array(part) if part not in seen and len(seen) < _TRIED else None
        seen.add(part)
        if array is not None and array.shape == shape:
            mended = scope_with_steps(case, {**case.let, step: Claim.of(pool.exprs[part])}, claims[0])
            if all(is_right_everywhere(name, claim, [mended]) for name, claim in using):
                text = to_text(pool.exprs[part])
                fitting.append((cost, len(text), text))
    for _, _, text in sorted(fitting)[:_VERIFIED]:
        if has_constant_condition(parse(text), case.let[step].expr, claims):
            continue
        suggester.case = replace(case, let={**case.let, step: Claim(text, parse(text))})
        if all(suggester.is_right(n, c.text, suggester.points.must_vary_incoming(c.expr)) for n, c in using):
            name, claim = using[0]
            return _FixedStep(step, text, suggester.case, suggester.certainty(name, claim.text))
    return None


def _report_step(context: Context, found: _FixedStep, using: Sequence[_Formula], claims: StepClaims) -> None:
    """Add the step against its intended text, as the formulas' cause."""
    step = context.case.let[found.name]
    lets = (context.case.let, found.case.let)
    got, want = (scope_with_steps(context.case, let, claims).array_of(Name(found.name)) for let in lets)
    subject = claims.subject(ClaimKind.FORMULA, found.name, step.place, formula=step.text)
    compared = claims.compare(got, want, replace(subject, reference=MEANT))
    suggested = did_you_mean(step.text, found.text, found.certainty)
    formulas = [(name, claim.text) for name, claim in using]
    cause = edit_cause(step.expr, parse(found.text), [scope_with_steps(context.case, context.case.let, claims)])
    blame_step(context, found.name, replace(compared, diagnoses=(suggested, *filter(None, (cause,)))), formulas)
