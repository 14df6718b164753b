"""Tensors that put right contributions together to a wrong gradient."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import islice

import numpy as np

from gradcheck.checks.closeness.compare import nearly_equal
from gradcheck.checks.failures import fault_localization
from gradcheck.checks.failures.composed_ops import blame_assigning_op
from gradcheck.checks.failures.diagnosis.catalogue import Evidence
from gradcheck.checks.failures.fault_localization import Fault
from gradcheck.checks.failures.gather_evidence import evidence_of_accumulation
from gradcheck.checks.failures.gradient_flow import GradientFlow
from gradcheck.checks.failures.point_failures import (
    COMPUTATION_ERRORS,
    GRADIENTS,
    MAX_DIAGNOSED,
    PointFailures,
    diagnose,
)
from gradcheck.checks.failures.traversal_probe import separate_by_small_graphs
from gradcheck.checks.result import Cause, Diagnosis, WrongOperation
from gradcheck.engines.base import Engine, Pullback
from gradcheck.engines.define_by_run import DefineByRun, OpRun
from gradcheck.errors import GradcheckError
from gradcheck.facts import Fact, fact
from gradcheck.language.claim_kind import ClaimKind


def explain_accumulation(
    failures: PointFailures, engine: Engine, wrong: Sequence[WrongOperation], shared: set[str]
) -> None:
    """Blame the tensors whose right contributions come to a wrong gradient.

    Args:
        wrong: ops that are wrong alone; tensors behind them are explained already.
        shared: entries with an op that is wrong only if two of its arguments are one tensor.
    """
    places = failures.failed_here((ClaimKind.GRADIENT,), engine.name)
    if not places:
        return
    step = min(failures.comparisons[place].step for place in places)
    if failures.context.case.steps[step].action != "backward":
        _explain_uncleared_gradients(failures, places, step, engine)
        return
    flow = failures.flow(step)
    if not flow.is_small:
        return
    try:
        explains = partial(failures.point.conditioning.allowance, ClaimKind.GRADIENT, step)
        gradients = fault_localization.gradient_increments(failures.point.evaluation(engine), step)
        found, record = fault_localization.find_faults(flow, gradients, explains)
    except GradcheckError as error:  # raised by the core's own rules, which compute the contributions
        noted = failures.comparisons[places[0]].with_notes(fact("not_traced", error=str(error)))
        failures.comparisons[places[0]] = noted
        return
    explained = {one.application.owner for one in wrong} | shared
    silent = _outside_graph(flow, wrong)
    for entry, origin in silent.items():
        if gradients.get(entry) is None:
            failures.mark_gradient_consequences(origin, engine, {entry})
    own: list[Fault] = []
    for fault in found:
        if fault.got is None and fault.tensor in silent:
            continue
        if explained & fault_localization.contributing_entries(flow, gradients, fault.tensor):
            continue
        if wrong and _is_by_total(failures, engine, fault):
            behind = flow.ancestors(fault.tensor) | {fault.tensor}
            failures.mark_gradient_consequences(fault_localization.origin_of(wrong[0]), engine, behind)
            continue
        own.append(fault)
    if own and not wrong and blame_assigning_op(failures, engine):
        return
    for fault in islice(fault_localization.first_faults(own, flow), MAX_DIAGNOSED):
        uses = len(record.received.get(flow.tensors[fault.tensor], ()))
        _blame_fault(failures, engine, fault, uses)
        failures.mark_gradient_consequences(fault.origin, engine, flow.ancestors(fault.tensor) - {fault.tensor})
        for place in failures.failed(GRADIENTS, engine.name):
            c = failures.comparisons[place]
            if c.tensor == fault.tensor and c.step > fault.step:  # a later pass adds to the wrong gradient
                failures.mark_consequences(fault.origin, [place])


def _outside_graph(flow: GradientFlow, wrong: Sequence[WrongOperation]) -> dict[str, Fact]:
    """Return the ops that cut the graph, by the entries behind them alone."""
    found = {one.application.owner: fault_localization.origin_of(one) for one in wrong if is_silent(one)}
    behind: dict[str, set[str]] = {}
    for tensor, entry in flow.owners.items():
        operands = {flow.owners.get(one, flow.names.get(one, "")) for one in tensor.creators if one.requires_grad}
        behind.setdefault(entry, set()).update(operands - {entry})
    for entry in flow.problem.case.graph if found else ():
        if entry not in found and behind.get(entry, {""}) <= found.keys():
            found[entry] = next(found[one] for one in behind[entry])
    return found


def _is_by_total(failures: PointFailures, engine: Engine, fault: Fault) -> bool:
    """Return whether wrong ops make the total of a root wrong."""
    gives, seeds = getattr(engine, "accepts_seeds", None), failures.point.problem.seeds[fault.step]
    if gives is None or fault.tensor not in seeds:
        return False
    values = failures.point.evaluation(engine).states[fault.step].values
    return not gives([values[root] for root in seeds], list(seeds.values()))


def _blame_fault(failures: PointFailures, engine: Engine, fault: Fault, uses: int) -> None:
    diagnoses = diagnose(evidence_of_accumulation(fault, engine, failures.context.points, failures.point))
    diagnoses = separate_by_small_graphs(diagnoses, engine)
    cause = fault_localization.wrong_accumulation_cause(fault, failures.operations, uses)
    places = failures.failed_here((ClaimKind.GRADIENT,), engine.name)
    there = [place for place in places if failures.comparisons[place].tensor == fault.tensor]
    if not there:  # the tensor's own failure has been excused: its first consequence shows the cause
        behind = failures.flow(fault.step).ancestors(fault.tensor)
        found = ((place, failures.comparisons[place]) for place in places)
        there = [p for p, c in found if not c.consequence_of and not c.cause and c.tensor in behind][:1]
    for place in there:
        if failures.comparisons[place].step == fault.step:
            failures.blame(place, cause, diagnoses)


def _explain_uncleared_gradients(failures: PointFailures, places: Sequence[int], step: int, engine: Engine) -> None:
    """Blame a step that should clear gradients for all later failures."""
    states = failures.point.evaluation(engine).states
    before = states[step - 1].gradients if step else {}
    for place in places:
        c = failures.comparisons[place]
        if c.step != step or c.got_array is None:
            continue
        want = c.got_array * 0 if c.want_array is None else c.want_array
        evidence = Evidence(c.got_array, want, earlier=before.get(c.tensor))
        cause = Cause(fact("outcome_of_step", number=step + 1), fact("not_cleared"))
        failures.blame(place, cause, diagnose([evidence, evidence]))
        later = failures.failed(GRADIENTS, engine.name)
        failures.mark_consequences(cause.origin, [other for other in later if failures.comparisons[other].step >= step])
        return


def without_pass_error(wrong: WrongOperation, dtype: np.dtype) -> WrongOperation:
    """Return an op whose result is cut with no gradients, not its error.

    Such an op passes nothing on; the exception is that of a pass which begins where there is no graph."""
    error = wrong.mine.error
    if error is None or wrong.theirs.error is not None or not _is_cut(wrong, dtype):
        return wrong
    return replace(wrong, mine=Pullback((None,) * len(wrong.mine.gradients)))


def cut_diagnoses(wrong: WrongOperation) -> tuple[Diagnosis, ...]:
    """Return the diagnosis of an op whose result is cut."""
    message = fact("nothing_passed_on", op=wrong.application.op.name)
    return (Diagnosis("detached", message, "confirmed", fact("sum_reaches_other")),)


def is_silent(wrong: WrongOperation) -> bool:
    """Return whether the op alone passes nothing on, without an error."""
    return wrong.mine.error is None and all(one is None or not np.any(one) for one in wrong.mine.gradients)


def _is_cut(wrong: WrongOperation, dtype: np.dtype) -> bool:
    """Return whether a pass from its sum with a leaf reaches only the leaf."""
    engine, (incoming, *others) = wrong.engine, wrong.operation.cotangents
    if not isinstance(engine, DefineByRun) or others or incoming is None:
        return False
    try:
        with engine.fresh_session(dtype):
            run = OpRun(engine, wrong.application, (incoming,))
            if run.error is not None or not run.roots:
                return False
            beside = engine.leaf(np.ones_like(incoming), True)
            engine.backward([run.roots[0] + beside], [incoming], True)
            has_passed = any(leaf.grad is not None and np.any(engine.array(leaf.grad)) for leaf in run.leaves)
            return beside.grad is not None and nearly_equal(engine.array(beside.grad), incoming) and not has_passed
    except COMPUTATION_ERRORS:
        return False
