"""Explanation of a case's failures: blame, causes, corrections."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from gradcheck.checks.claims.certificates import certify_failed
from gradcheck.checks.claims.formulas import check_formula
from gradcheck.checks.claims.operations import check_operations
from gradcheck.checks.claims.stated_claims import StepClaims
from gradcheck.checks.context import Context
from gradcheck.checks.failures import fault_localization
from gradcheck.checks.failures.accumulation_faults import cut_diagnoses, explain_accumulation, without_pass_error
from gradcheck.checks.failures.bare_graph_recheck import reproduced_failures
from gradcheck.checks.failures.blame_assignment import assign_blame
from gradcheck.checks.failures.composed_ops import op_parts, separate_composed_ops
from gradcheck.checks.failures.correction.step_edits import blame_slips_in_steps
from gradcheck.checks.failures.correction.suggestion import refute, suggest
from gradcheck.checks.failures.correction.tidy_formula import DerivedFormulas
from gradcheck.checks.failures.engine_faults import explain_forward_mode, is_unreliable, is_wrong_everywhere
from gradcheck.checks.failures.explanation_points import ExplanationPoints
from gradcheck.checks.failures.gather_evidence import MORE_POINTS, evidence_of_formula, evidence_of_rule
from gradcheck.checks.failures.point_failures import FORWARD_MODE, MAX_DIAGNOSED, PointFailures, diagnose
from gradcheck.checks.failures.reference_errors import fail_repeated_errors
from gradcheck.checks.failures.rule_diagnoses import (
    diagnose_matrix_only_rule,
    diagnose_raising_rule,
    diagnose_rule_formula,
)
from gradcheck.checks.failures.size_factor import express_in_sizes, ratios_at
from gradcheck.checks.failures.stated_numbers import (
    diagnose_rounded_numbers,
    diagnose_stated_gradients,
    mark_stated_consequences,
)
from gradcheck.checks.failures.traversal_probe import explain_traversal
from gradcheck.checks.failures.uncomputable_graph import explain_uncomputable_claims, explain_uncomputable_graph
from gradcheck.checks.failures.wrong_steps import (
    blame_steps,
    case_with_fixed_steps,
    claims_at,
    with_missing_factor,
    wrong_formulas,
)
from gradcheck.checks.failures.wrong_values import has_forward_error, has_wrong_values, source_part
from gradcheck.checks.isolation.failure_capture import Part, try_part
from gradcheck.checks.points.point import Point
from gradcheck.checks.result import Cause, WrongOperation
from gradcheck.engines.base import AdaptedEngine, Engine
from gradcheck.facts import fact
from gradcheck.language.case import Claim
from gradcheck.language.claim_kind import ClaimKind

#: The formulas of one case that are diagnosed, and the points of the same sizes at which a diagnosis must hold.
MAX_FORMULAS, _ELSEWHERE = 6, 6
#: Claims whose trials are explained if the case's own numbers pass.
_SHOWN_BY_TRIALS = (ClaimKind.GRADIENT, ClaimKind.FORMULA)


def explain(context: Context) -> None:
    """Add verdicts, causes, diagnoses and suggestions, if the run explains."""
    if not context.options.explained:
        return
    if context.errors:
        explain_uncomputable_graph(context)
    if context.options.oracle != "none" and context.can_be_checked:
        failed = {(c.tensor, c.formula) for c in context.found if c.what is ClaimKind.FORMULA and c.status == "failed"}
        assign_blame(context)
        certify_failed(context, failed)
        fail_repeated_errors(context)
    if not any(c.status == "failed" for c in context.found):
        return
    explaining, derived = ExplanationPoints(context.points), DerivedFormulas(context.case)
    looks: dict[Part, Callable[[], None]] = {"cause": partial(_find_causes, context, explaining, derived)}
    if any(c.mismatch is not None and c.mismatch.kind == "claim_raised" for c in context.found):
        looks["part"] = partial(explain_uncomputable_claims, context)
    if context.options.corrected and not context.case.is_expected_to_fail:
        looks["suggestion"] = partial(suggest, context, explaining, derived)
        looks["counterexample"] = partial(refute, context)
    for part, look in looks.items():
        if not try_part(part, look, context.failed_explanations):
            break


def _find_causes(context: Context, explaining: ExplanationPoints, derived: DerivedFormulas) -> None:
    point = _point_to_explain(context)
    if point is not None:
        blame_steps(context, explaining)
        if context.options.corrected:
            blame_slips_in_steps(context, explaining, derived)
        _explain_at(PointFailures(context, point))
        explain_formulas(context, explaining)


def _point_to_explain(context: Context) -> Point | None:
    failed = [c for c in context.found if c.status == "failed"]
    if any(c.trial is None for c in failed):
        return context.points.own
    for c in failed:
        if c.what in _SHOWN_BY_TRIALS:
            return context.points.at(c.trial)
    return None


def _explain_at(failures: PointFailures) -> None:
    context, point = failures.context, failures.point
    if point.trial is not None:
        _look_at_operations(failures, context.engines.tested)
    elif not context.can_be_checked:  # an engine may raise before any op is compared alone
        broken = [e for e in context.engines.tested if any(state.error for state in point.evaluation(e).states)]
        _look_at_operations(failures, broken)
    else:
        failures.operations = len(point.applications)
    for engine in context.engines.tested:
        if failures.failed((), engine.name):
            _explain_engine(failures, engine)
            _add_lines_of_passes(failures, engine)
        if failures.failed(FORWARD_MODE, engine.name):
            explain_forward_mode(failures, engine)
    diagnose_rounded_numbers(failures)
    diagnose_stated_gradients(failures)


def _add_lines_of_passes(failures: PointFailures, engine: Engine) -> None:
    """Add the line of a Tensor class that makes a pass wrong."""
    if not isinstance(engine, AdaptedEngine):
        return
    for place in failures.failed((), engine.name):
        c = failures.comparisons[place]
        if c.code is None and c.cause is not None and c.cause.fault.kind in fault_localization.PASS_FAULTS:
            kind = c.diagnoses[0].kind if c.diagnoses else ""
            failures.change(place, code=engine.line_of_mistake(kind, failures.point.problem))


def _look_at_operations(failures: PointFailures, engines: Sequence[Engine]) -> None:
    if engines:
        found = check_operations(failures.point, engines, failures.context.options.tolerance)
        failures.comparisons.extend(reproduced_failures(failures.context, failures.point, found))
        failures.operations = len(failures.point.applications)


def _explain_engine(failures: PointFailures, engine: Engine) -> None:
    places = failures.failed_here((ClaimKind.NODE,), engine.name)
    known = {place: failures.comparisons[place].operation for place in places}
    dtype = failures.point.problem.dtype
    wrong = {place: without_pass_error(one, dtype) for place, one in known.items() if one is not None}
    listed = list(wrong.values())
    if is_unreliable(failures, engine, listed) or has_forward_error(failures, engine):
        return
    if is_wrong_everywhere(failures, engine, listed):
        return
    if has_wrong_values(failures, engine):
        return
    wrong, because = separate_composed_ops(failures, engine, wrong)
    _explain_operations(failures, engine, wrong)
    for place, inner in because.items():
        found = failures.comparisons[inner]
        origin = found.cause.origin if found.cause is not None else found.consequence_of
        failures.mark_consequences(origin or fault_localization.origin_of(wrong[inner]), [place])
    shared = _explain_shared(failures, engine)
    raised = failures.failed((ClaimKind.RAISES,), engine.name)
    if raised:
        if wrong:  # the op that raises first in a backward pass, or else is wrong first
            first = next((one for one in reversed(wrong.values()) if one.mine.error), [*wrong.values()][-1])
            failures.mark_consequences(fault_localization.origin_of(first), raised)
        else:
            _explain_outcome(failures, engine, raised[0])
        return
    explain_accumulation(failures, engine, listed, shared)
    if not listed:
        explain_traversal(failures, engine)
    mark_stated_consequences(failures, engine)


def _explain_outcome(failures: PointFailures, engine: Engine, place: int) -> None:
    """Blame a step with the wrong outcome for later gradients."""
    c = failures.comparisons[place]
    if c.mismatch is not None:
        cause = Cause(fact("outcome_of_step", number=c.step + 1), c.mismatch)
        failures.change(place, cause=cause)
        later = [p for p in failures.failed((), engine.name) if p != place and failures.comparisons[p].step >= c.step]
        failures.mark_consequences(cause.origin, later)


# Ops that are wrong alone ----------------------------------------------------------------------------


def _explain_operations(failures: PointFailures, engine: Engine, wrong: dict[int, WrongOperation]) -> None:
    """Blame each op that is wrong alone for the gradients behind it."""
    groups: dict[str, list[int]] = {}
    for place in reversed(wrong):  # a backward pass meets the last op first
        groups.setdefault(wrong[place].application.op.name, []).append(place)
    numbers = {one.number for one in wrong.values()}
    for count, group in enumerate(groups.values()):
        first = [place for place in reversed(group) if wrong[place].number == wrong[group[0]].number]
        one = wrong[first[0]]
        counts = (failures.operations, len(numbers))
        made = op_parts(failures, engine, one.application)
        cause = fault_localization.wrong_rule_cause([wrong[p] for p in first], counts, made.methods)
        failures.change(
            first[0],
            cause=cause,
            part=source_part(failures, one.application, one.number, one.inside),
            code=(one.mine.error.code if one.mine.error else None) or made.place,
        )
        if count < MAX_DIAGNOSED:
            if one.mine.error:
                failures.change(first[0], diagnoses=diagnose_raising_rule(one, failures.point))
            for place in () if one.mine.error else first[:MAX_DIAGNOSED]:
                evidence = evidence_of_rule(wrong[place], failures.context.points, failures.point)
                known_operation = failures.comparisons[place].operation
                is_cut = known_operation is not None and known_operation.mine.error is not None
                failures.change(place, diagnoses=cut_diagnoses(one) if is_cut else diagnose(evidence))
            known = failures.comparisons[first[0]].diagnoses
            if not any(d.confidence for d in known):
                found = diagnose_matrix_only_rule(one, failures.point) or diagnose_rule_formula(one, failures)
                failures.change(first[0], diagnoses=found or known)
        failures.mark_consequences(cause.origin, group)
        owners = {wrong[place].application.owner for place in group}
        failures.mark_gradient_consequences(cause.origin, engine, failures.flow(0).behind(*owners))


def _explain_shared(failures: PointFailures, engine: Engine) -> set[str]:
    """Blame ops that are wrong only if two arguments are one tensor."""
    entries = set()
    for place in failures.failed_here((ClaimKind.NODE,), engine.name):
        c = failures.comparisons[place]
        if c.mismatch is not None and c.mismatch.kind == "wrong_where_shared":
            entries.add(c.tensor)
            origin = fact("op_at", op=c.mismatch["op"], entry=c.tensor)
            failures.change(place, cause=Cause(origin, fact("shared_argument")))
            failures.mark_gradient_consequences(origin, engine, failures.flow(0).behind(c.tensor))
    return entries


# Formulas --------------------------------------------------------------------------------------------


def explain_formulas(context: Context, points: ExplanationPoints) -> None:
    """Diagnose each wrong formula by its numbers at several points."""
    found = wrong_formulas(context)[:MAX_FORMULAS]
    elsewhere = claims_at(context, points) if found else []
    for place, c, claim in found:
        case = case_with_fixed_steps(context, c)
        looked_at = (point.with_claims(case) for point in _points(context, points, c.tensor, claim))
        diagnoses = diagnose(evidence_of_formula(c.tensor, claim, looked_at))
        claimed = [replace(one, point=one.point.with_claims(case)) for one in elsewhere]
        diagnoses = express_in_sizes(diagnoses, list(ratios_at(claimed, c.tensor, claim)))
        context.found[place] = replace(c, diagnoses=diagnoses, cause=with_missing_factor(c.cause, diagnoses))


def _points(context: Context, points: ExplanationPoints, name: str, claim: Claim) -> Iterator[Point]:
    """Yield the points at which a formula is diagnosed.

    First one where it is wrong, of the case's own sizes if possible, and points near it; then others of its sizes.
    """
    names_incoming, own = points.must_vary_incoming(claim.expr), points.run.own.problem.sizes
    failed = {(name, claim.text)}
    listed = sorted(points.seed_independent(names_incoming), key=lambda p: p.problem.sizes != own)
    listed += points.points_of_run(names_incoming)

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
