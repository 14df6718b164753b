"""After a failure: who is wrong, where it comes from, what follows from it, why, and what may have been meant."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice

from gradcheck.checks.claims.certificates import certify_failed
from gradcheck.checks.claims.operations import check_operations
from gradcheck.checks.context import Context
from gradcheck.checks.failures import fault_localization
from gradcheck.checks.failures.bare_graph_recheck import reproduced_failures
from gradcheck.checks.failures.blame_assignment import assign_blame
from gradcheck.checks.failures.composed_ops import op_parts, separate_composed_ops
from gradcheck.checks.failures.consequences import explain_uncleared_gradients, mark_stated_consequences
from gradcheck.checks.failures.correction.derived_formulas import DerivedFormulas
from gradcheck.checks.failures.correction.step_edits import blame_slips_in_steps
from gradcheck.checks.failures.correction.suggestion import refute, suggest
from gradcheck.checks.failures.diagnosis.evidence import Evidence
from gradcheck.checks.failures.engine_faults import counts_all_twice, is_unreliable, separate_by_three_uses
from gradcheck.checks.failures.explanation_points import ExplanationPoints
from gradcheck.checks.failures.formula_diagnoses import explain_formulas
from gradcheck.checks.failures.gather_evidence import evidence_of_accumulation, evidence_of_rule
from gradcheck.checks.failures.point_failures import FORWARD_MODE, GRADIENTS, MAX_DIAGNOSED, PointFailures, diagnose
from gradcheck.checks.failures.reference_errors import fail_repeated_errors
from gradcheck.checks.failures.rounded_numbers import diagnose_rounded_numbers
from gradcheck.checks.failures.shape_dependent_rules import diagnose_matrix_only_rule, diagnose_raising_rule
from gradcheck.checks.failures.source_location import source_part
from gradcheck.checks.failures.wrong_steps import blame_steps
from gradcheck.checks.failures.wrong_values import has_forward_error, has_wrong_values
from gradcheck.checks.isolation.failure_capture import try_part
from gradcheck.checks.points.point import Point
from gradcheck.checks.result import Cause, Comparison, WrongOperation
from gradcheck.engines.base import AdaptedEngine, Engine
from gradcheck.errors import GradcheckError
from gradcheck.facts import fact
from gradcheck.language.claim_kind import ClaimKind

#: Of fewer numbers, almost any mistake would fit.
_FEW = 3
#: What a trial can say about the engine, and about the derivation, where the case's own numbers show nothing.
_SHOWN_BY_TRIALS = (ClaimKind.GRADIENT, ClaimKind.FORMULA)


def explain(context: Context) -> None:
    """Verdicts, causes, consequences, diagnoses and suggestions for what failed; nothing unless the run explains."""
    if not context.options.explained:
        return
    if context.errors:
        from gradcheck.checks.failures.uncomputable_graph import explain_uncomputable_graph

        explain_uncomputable_graph(context)
    if context.options.oracle != "none" and context.can_be_checked:
        failed = {(c.tensor, c.formula) for c in context.found if c.what is ClaimKind.FORMULA and c.status == "failed"}
        assign_blame(context)
        certify_failed(context, failed)
        fail_repeated_errors(context)
    if not any(c.status == "failed" for c in context.found):
        return
    explaining, derived = ExplanationPoints(context.points), DerivedFormulas(context.case)
    looks: dict[str, Callable[[], None]] = {"cause": partial(_find_causes, context, explaining, derived)}
    if any(c.mismatch is not None and c.mismatch.kind == "claim_raised" for c in context.found):
        looks["part"] = partial(_explain_uncomputable, context)
    if context.options.corrected and not context.case.is_expected_to_fail:
        looks["suggestion"] = partial(suggest, context, explaining, derived)
        looks["counterexample"] = partial(refute, context)
    for part, look in looks.items():
        if not try_part(part, look, context.failed_explanations):
            break


def _explain_uncomputable(context: Context) -> None:
    from gradcheck.checks.failures.uncomputable_claims import explain_uncomputable_claims

    explain_uncomputable_claims(context)


def _find_causes(context: Context, explaining: ExplanationPoints, derived: DerivedFormulas) -> None:
    point = _point_to_explain(context)
    if point is not None:
        blame_steps(context, explaining)
        if context.options.corrected:
            blame_slips_in_steps(context, explaining, derived)
        _explain_at(PointFailures(context, point))
        explain_formulas(context, explaining)


def _point_to_explain(context: Context) -> Point | None:
    """The case's own numbers if anything failed there; else those of the first trial that shows something."""
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
    elif not context.can_be_checked:  # an engine may have raised in a backward pass, before any op was looked at alone
        broken = [e for e in context.engines.tested if any(state.error for state in point.evaluation(e).states)]
        _look_at_operations(failures, broken)
    else:
        failures.operations = len(point.applications)
    for engine in context.engines.tested:
        if failures.failed((), engine.name):
            _explain_engine(failures, engine)
        if failures.failed(FORWARD_MODE, engine.name):
            from gradcheck.checks.failures.forward_mode_faults import explain_forward_mode

            explain_forward_mode(failures, engine)
    diagnose_rounded_numbers(failures)
    _explain_expected(failures)


def _look_at_operations(failures: PointFailures, engines: Sequence[Engine]) -> None:
    """Add the ops that are wrong alone at this point."""
    if engines:
        found = check_operations(failures.point, engines, failures.context.options.tolerance)
        failures.comparisons.extend(reproduced_failures(failures.context, failures.point, found))
        failures.operations = len(failures.point.applications)


def _explain_engine(failures: PointFailures, engine: Engine) -> None:
    places = failures.failed_here((ClaimKind.NODE,), engine.name)
    known = {place: failures.comparisons[place].operation for place in places}
    wrong = {place: operation for place, operation in known.items() if operation is not None}
    listed = list(wrong.values())
    if is_unreliable(failures, engine, listed) or has_forward_error(failures, engine):
        return
    if counts_all_twice(failures, engine, listed):
        return
    if has_wrong_values(failures, engine):
        return
    wrong, because = separate_composed_ops(failures, engine, wrong)
    _explain_operations(failures, engine, wrong)
    for place, inner in because.items():
        found = failures.comparisons[inner]
        origin = found.cause.origin if found.cause is not None else found.consequence_of
        failures.mark_consequences(origin or fault_localization.origin_of(wrong[inner]), [place])
    _explain_shared(failures, engine)
    raised = failures.failed((ClaimKind.RAISES,), engine.name)
    if raised:
        if wrong:
            failures.mark_consequences(fault_localization.origin_of(_that_raises(list(wrong.values()))), raised)
        else:
            _explain_outcome(failures, engine, raised[0])
        return
    _explain_accumulation(failures, engine, listed)
    if not listed:
        from gradcheck.checks.failures.traversal_diagnosis import explain_traversal

        explain_traversal(failures, engine)
    mark_stated_consequences(failures, engine)


def _explain_outcome(failures: PointFailures, engine: Engine, place: int) -> None:
    """Gradients are others from a step on that should have raised something, or should not have."""
    c = failures.comparisons[place]
    if c.mismatch is not None:
        cause = Cause(fact("outcome_of_step", number=c.step + 1), c.mismatch)
        failures.change(place, cause=cause)
        later = [p for p in failures.failed((), engine.name) if p != place and failures.comparisons[p].step >= c.step]
        failures.mark_consequences(cause.origin, later)


def _that_raises(wrong: Sequence[WrongOperation]) -> WrongOperation:
    """The first in a backward pass that raises something alone, or else the first that is wrong."""
    return next((one for one in reversed(wrong) if one.mine.error), wrong[-1])


# Ops that are wrong alone ----------------------------------------------------------------------------


def _explain_operations(failures: PointFailures, engine: Engine, wrong: dict[int, WrongOperation]) -> None:
    """Tell of each op that is wrong alone; the gradients of all tensors behind it are its consequences."""
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
            first[0], cause=cause, part=source_part(failures, one.application, one.number, one.inside), code=made.place
        )
        if count < MAX_DIAGNOSED:
            if one.mine.error:
                failures.change(first[0], diagnoses=diagnose_raising_rule(one, failures.point))
            for place in () if one.mine.error else first[:MAX_DIAGNOSED]:
                evidence = evidence_of_rule(wrong[place], failures.context.points, failures.point)
                failures.change(place, diagnoses=diagnose(evidence))
            if not any(d.confidence for d in failures.comparisons[first[0]].diagnoses):
                found = diagnose_matrix_only_rule(one, failures.point)
                failures.change(first[0], diagnoses=found or failures.comparisons[first[0]].diagnoses)
        failures.mark_consequences(cause.origin, group)
        owners, flow = {wrong[place].application.owner for place in group}, failures.flow(0)
        behind = flow.ancestors(*(name for name in flow.tensors if name.partition("[")[0] in owners))
        failures.mark_gradient_consequences(cause.origin, engine, behind)


def _is_shared(c: Comparison) -> bool:
    return c.mismatch is not None and c.mismatch.kind == "wrong_where_shared"


def _shared_at(failures: PointFailures, engine: Engine) -> set[str]:
    """The entries with an op that is wrong only where one tensor stands for two of its arguments."""
    found = (failures.comparisons[place] for place in failures.failed_here((ClaimKind.NODE,), engine.name))
    return {c.tensor for c in found if _is_shared(c)}


def _explain_shared(failures: PointFailures, engine: Engine) -> None:
    """Tell of these ops; the gradients of all tensors behind them are their consequences."""
    for place in failures.failed_here((ClaimKind.NODE,), engine.name):
        c = failures.comparisons[place]
        if c.mismatch is not None and _is_shared(c):
            origin = fact("op_at", op=c.mismatch["op"], entry=c.tensor)
            failures.change(place, cause=Cause(origin, fact("shared_argument")))
            flow = failures.flow(0)
            behind = flow.ancestors(*(name for name in flow.tensors if name.partition("[")[0] == c.tensor))
            failures.mark_gradient_consequences(origin, engine, behind)


# Gradients that do not follow from each other ----------------------------------------------------------


def _explain_accumulation(failures: PointFailures, engine: Engine, wrong: Sequence[WrongOperation]) -> None:
    """Tell of the tensors at which contributions that are right come to a gradient that is not; of what is left where
    some ops are wrong, it is these."""
    places = failures.failed_here((ClaimKind.GRADIENT,), engine.name)
    if not places:
        return
    step = min(failures.comparisons[place].step for place in places)
    if failures.context.case.steps[step].action != "backward":
        explain_uncleared_gradients(failures, places, step, engine)
        return
    flow = failures.flow(step)
    if not flow.is_small:
        return
    try:
        explains = partial(failures.point.conditioning.allowance, ClaimKind.GRADIENT, step)
        gradients = fault_localization.gradient_increments(failures.point.evaluation(engine), step)
        found, followed = fault_localization.find_faults(flow, gradients, explains)
    except GradcheckError as error:  # the core's own rules, by which contributions are told, fail here
        noted = failures.comparisons[places[0]].with_notes(fact("not_traced", error=str(error)))
        failures.comparisons[places[0]] = noted
        return
    wrong_at = {one.application.owner for one in wrong} | _shared_at(failures, engine)
    own = [
        fault
        for fault in found
        if not wrong_at & fault_localization.contributing_entries(flow, gradients, fault.tensor)
    ]
    by_total = {fault.tensor for fault in own if wrong and _is_by_total(failures, engine, fault)}
    for tensor in by_total:
        failures.mark_gradient_consequences(
            fault_localization.origin_of(wrong[0]), engine, flow.ancestors(tensor) | {tensor}
        )
    own = [fault for fault in own if fault.tensor not in by_total]
    for fault in islice(fault_localization.first_faults(own, flow), MAX_DIAGNOSED):
        uses = len(followed.received.get(flow.tensors[fault.tensor], ()))
        _blame_fault(failures, engine, fault, uses)
        failures.mark_gradient_consequences(fault.origin, engine, flow.ancestors(fault.tensor) - {fault.tensor})
        for place in failures.failed(GRADIENTS, engine.name):
            c = failures.comparisons[place]
            if c.tensor == fault.tensor and c.step > fault.step:  # what goes wrong in one pass stays wrong
                failures.mark_consequences(fault.origin, [place])


def _is_by_total(failures: PointFailures, engine: Engine, fault: fault_localization.Fault) -> bool:
    """Whether it is at a root whose incoming gradient is given by a total that ops which are wrong have made wrong."""
    seeds = failures.point.problem.seeds[fault.step]
    if not isinstance(engine, AdaptedEngine) or fault.tensor not in seeds:
        return False
    values = failures.point.evaluation(engine).states[fault.step].values
    return not engine.accepts_seeds([values[root] for root in seeds], list(seeds.values()))


def _blame_fault(failures: PointFailures, engine: Engine, fault: fault_localization.Fault, uses: int) -> None:
    points = failures.context.points
    diagnoses = diagnose(evidence_of_accumulation(fault, engine, points, failures.point))
    diagnoses = separate_by_three_uses(diagnoses, engine, failures.reference)
    cause = fault_localization.wrong_accumulation_cause(fault, failures.operations, uses)
    places = failures.failed_here((ClaimKind.GRADIENT,), engine.name)
    there = [place for place in places if failures.comparisons[place].tensor == fault.tensor]
    if not there:  # where it shows has been excused: what follows from it tells of it
        behind = failures.flow(fault.step).ancestors(fault.tensor)
        behind_it = (failures.comparisons[place] for place in places)
        untold = [not c.consequence_of and not c.cause and c.tensor in behind for c in behind_it]
        there = [place for place, is_untold in zip(places, untold, strict=True) if is_untold][:1]
    for place in there:
        if failures.comparisons[place].step == fault.step:
            failures.blame(place, cause, diagnoses)


# A person's numbers -------------------------------------------------------------------------


def _explain_expected(failures: PointFailures) -> None:
    """Why numbers that the file states are wrong, where the engines agree that they are. There is but one point."""
    wrong: dict[tuple[str, int], list[int]] = {}
    for place in failures.failed_here((ClaimKind.EXPECTED,)):
        c = failures.comparisons[place]
        if not c.consequence_of and not c.diagnoses:
            wrong.setdefault((c.tensor, c.step), []).append(place)
    for places in list(wrong.values())[:MAX_DIAGNOSED]:
        found = [failures.comparisons[place] for place in places]
        judge = next((c for c in found if c.engine == failures.reference.name), None)
        if judge is None or judge.got_array is None or judge.want_array is None or judge.want_array.size < _FEW:
            continue
        states = failures.point.want.states
        right = states[judge.step].gradients if judge.step < len(states) else {}
        others = {name: g for name, g in right.items() if g is not None and name != judge.tensor}
        evidence = Evidence(judge.want_array, judge.got_array, others=others, rounding_rtol=judge.rtol or 0.0)
        diagnoses = diagnose([evidence])
        if diagnoses[0].kind != "unknown":
            for place in places:
                failures.change(place, diagnoses=diagnoses)
