"""After a failure: where it comes from, what follows from it, and why. Asked only where something has failed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice

import numpy as np

from gradcheck.checks.claims.operations import WrongNode, check_nodes
from gradcheck.checks.failures import alone, derivations, localize, sweeping
from gradcheck.checks.failures.diagnosis import Evidence
from gradcheck.checks.failures.docket import GRADIENTS, MOST, Diagnoses, Docket
from gradcheck.checks.failures.engine_faults import has_wrong_values, is_unreliable
from gradcheck.checks.failures.tiebreak import tell_apart
from gradcheck.checks.failures.trial_causes import explain_trial
from gradcheck.checks.points import Elsewhere
from gradcheck.checks.result import Comparison
from gradcheck.engines.base import Engine, Evaluation
from gradcheck.engines.core import applications_of
from gradcheck.errors import GradcheckError
from gradcheck.language.problem import Problem

#: Of fewer numbers, almost any mistake would fit.
_FEW = 3


def explain(
    problem: Problem,
    evaluations: Mapping[str, Evaluation],
    comparisons: Sequence[Comparison],
    wrong: Sequence[WrongNode],
    engines: Sequence[Engine],
    reference: Engine,
    operations: int,
) -> list[Comparison]:
    """The comparisons, with causes, consequences and diagnoses where they failed."""
    failed = [comparison for comparison in comparisons if comparison.status == "failed"]
    if not failed:
        return list(comparisons)
    if all(comparison.trial is not None for comparison in failed):

        def at_trial(moved: Problem, own: list[Comparison], wrong: Sequence[WrongNode], ops: int) -> list[Comparison]:
            known = {engine.name: engine.evaluate(moved) for engine in (*engines, reference)}
            return explain(moved, known, own, wrong, engines, reference, ops)

        return explain_trial(problem.case, comparisons, engines, reference, at_trial)
    if not operations:
        comparisons, wrong, operations = _with_nodes(problem, evaluations, comparisons, engines, reference)
    points = Elsewhere(problem, evaluations)
    docket = Docket(problem, evaluations, list(comparisons), reference, operations, points)
    for engine in engines:
        if docket.failed((), engine.name):
            _explain_engine(docket, engine, [one for one in wrong if one.engine is engine])
    _stated(docket)
    _formulas(docket)
    return docket.comparisons


def _with_nodes(
    problem: Problem,
    evaluations: Mapping[str, Evaluation],
    comparisons: Sequence[Comparison],
    engines: Sequence[Engine],
    reference: Engine,
) -> tuple[list[Comparison], list[WrongNode], int]:
    """Where an engine has raised in a backward pass, and so no op has been looked at alone: now they are."""
    broken = [engine for engine in engines if any(state.error for state in evaluations[engine.name].states)]
    applications, wrong = applications_of(problem) if broken else [], list[WrongNode]()
    nodes = check_nodes(problem, applications, broken, reference, into=wrong)
    return [*comparisons, *(node for node in nodes if node.status == "failed")], wrong, len(applications)


def _explain_engine(docket: Docket, engine: Engine, wrong: Sequence[WrongNode]) -> None:
    if is_unreliable(docket, engine, wrong) or has_wrong_values(docket, engine):
        return
    _nodes(docket, engine, wrong)
    raised = docket.failed(("raises",), engine.name)
    if raised:
        if wrong:
            docket.spoil(raised, localize.where(wrong[-1]))
        return
    _sweep(docket, engine, wrong)


# Ops that are wrong alone ----------------------------------------------------------------------------


def _nodes(docket: Docket, engine: Engine, wrong: Sequence[WrongNode]) -> None:
    """Tell of each op that is wrong alone; the gradients of all tensors behind it are its consequences."""
    groups: dict[str, list[WrongNode]] = {}
    for one in reversed(wrong):  # a backward pass meets the last op first
        groups.setdefault(one.node.application.op.name, []).append(one)
    numbers = {one.number for one in wrong}
    places = {_key(docket.comparisons[place]): place for place in docket.failed(("node",), engine.name)}
    for count, group in enumerate(groups.values()):
        first = [one for one in reversed(group) if one.number == group[0].number]
        where = localize.where(first[0])
        lead = places.get(_key(first[0].comparison))
        if lead is not None:
            docket.change(lead, cause=localize.sentence(first, docket.operations, len(numbers)))
        for one in first[:MOST] if count < MOST else ():
            evidence = alone.evidence_of(one, docket.reference, docket.problem.dtype, docket.points.applications)
            if _key(one.comparison) in places:
                docket.change(places[_key(one.comparison)], diagnoses=docket.why(evidence))
        docket.spoil([places[key] for one in group if (key := _key(one.comparison)) in places], where)
        docket.spoil_gradients(engine, _behind(docket, {one.node.application.owner for one in group}), where)


def _key(c: Comparison) -> tuple[object, ...]:
    """By what a comparison is known that others may have added to since."""
    return c.tensor, c.message, id(c.got_array)


def _behind(docket: Docket, owners: set[str]) -> set[str]:
    """The tensors that a gradient reaches through these entries."""
    flow = docket.flow(0)
    return flow.below(*(name for name in flow.tensors if name.partition("[")[0] in owners))


# Gradients that do not follow from each other ----------------------------------------------------------


def _sweep(docket: Docket, engine: Engine, wrong: Sequence[WrongNode]) -> None:
    """Tell of the tensors at which contributions that are right come to a gradient that is not."""
    places = [p for p in docket.failed(("gradient",), engine.name) if docket.comparisons[p].trial is None]
    if not places:
        return
    step = min(docket.comparisons[place].step for place in places)
    evaluation = docket.evaluations[engine.name]
    if docket.problem.case.steps[step].action != "backward":
        _left_over(docket, places, step, evaluation)
        return
    flow = docket.flow(step)
    if not flow.is_small:
        return
    try:
        found, followed = localize.faults(flow, localize.added(evaluation, step))
    except GradcheckError as error:  # the core's own rules, by which contributions are told, fail here
        note = f"not traced to its cause: {error}"
        docket.change(places[0], notes=(*docket.comparisons[places[0]].notes, note))
        return
    wrong_at = {one.node.application.owner for one in wrong}
    own = [fault for fault in found if not wrong_at & flow.children(fault.tensor)]
    for fault in islice(localize.first(own, flow), MOST):
        uses = len(followed.received.get(flow.tensors[fault.tensor], ()))
        diagnoses = docket.why(sweeping.evidence_of(fault, engine, docket.reference, docket.points))
        diagnoses = tell_apart(diagnoses, engine, docket.reference)
        cause = localize.accumulation(fault, docket.operations, uses)
        for place in places:
            c = docket.comparisons[place]
            if (c.tensor, c.step) == (fault.tensor, step):
                docket.change(place, cause=cause, diagnoses=diagnoses, consequence_of="")
        docket.spoil_gradients(engine, flow.below(fault.tensor) - {fault.tensor}, fault.tensor)
        later = [p for p in docket.failed(GRADIENTS, engine.name) if _is_later(docket.comparisons[p], fault)]
        docket.spoil(later, fault.tensor)


def _is_later(c: Comparison, fault: localize.Fault) -> bool:
    """What goes wrong in one pass stays wrong in those that follow."""
    return c.tensor == fault.tensor and c.step > fault.step


def _left_over(docket: Docket, places: Sequence[int], step: int, evaluation: Evaluation) -> None:
    """What a step that is no backward pass should have cleared."""
    before = evaluation.states[step - 1].gradients if step else {}
    for place in places[:MOST]:
        c = docket.comparisons[place]
        got = c.got_array
        if c.step == step and got is not None:
            want = got * 0 if c.want_array is None else c.want_array
            evidence = Evidence(got, want, earlier=before.get(c.tensor))
            docket.change(place, diagnoses=docket.why([evidence, evidence]))


# A person's numbers and formulas -------------------------------------------------------------------------


def _stated(docket: Docket) -> None:
    """Why numbers that the file states are wrong, where the engines agree that they are. There is but one point."""
    wrong: dict[tuple[str, int], list[int]] = {}
    for place in docket.failed(("expected",)):
        c = docket.comparisons[place]
        if c.trial is None and not c.consequence_of:
            wrong.setdefault((c.tensor, c.step), []).append(place)
    for places in list(wrong.values())[:MOST]:
        found = [docket.comparisons[place] for place in places]
        judge = next((c for c in found if c.engine == docket.reference.name), None)
        if judge is None or judge.got_array is None or judge.want_array is None or judge.want_array.size < _FEW:
            continue
        others = {name: g for name, g in _right(docket, judge.step).items() if name != judge.tensor}
        evidence = Evidence(judge.want_array, judge.got_array, others=others, rounded=judge.rtol or 0.0)
        diagnoses = docket.why([evidence])
        for place in places if diagnoses[0]["kind"] != "unknown" else ():
            docket.change(place, diagnoses=diagnoses)


def _right(docket: Docket, step: int) -> dict[str, np.ndarray]:
    states = docket.points.evaluation(docket.reference, 0).states
    return {name: g for name, g in states[step].gradients.items() if g is not None} if step < len(states) else {}


def _formulas(docket: Docket) -> None:
    """Why formulas are wrong, at the case's own numbers."""
    step = len(docket.problem.case.steps) - 1
    own = [place for place in docket.failed(("formula",)) if docket.comparisons[place].trial is None]
    for place in own[: 2 * MOST]:
        docket.change(place, diagnoses=_why_formula(docket, docket.comparisons[place], step))


def _why_formula(docket: Docket, c: Comparison, step: int) -> Diagnoses:
    for claim in docket.problem.case.formulas.get(c.tensor, ()):
        if claim.text == c.formula:
            return docket.why(derivations.evidence_of(c.tensor, claim, step, docket.reference, docket.points))
    return ()
