"""Diagnosis of a backward pass that takes a wrong way through its graph.

A class that keeps no intermediate gradients shows only those of the inputs; in others, several wrong ways look
alike at each tensor. So the engine also runs small graphs, on which each wrong way has numbers of its own.
"""

from __future__ import annotations

from gradcheck.checks.failures.gradient_flow import GradientFlow
from gradcheck.checks.failures.point_failures import COMPUTATION_ERRORS, GRADIENTS, PointFailures
from gradcheck.checks.failures.traversal_probe import BACKWARD_PASS, diagnose_case, diagnose_small_graphs
from gradcheck.checks.result import Comparison, Diagnosis
from gradcheck.engines.base import Engine
from gradcheck.language.claim_kind import ClaimKind

#: Kinds that a tensor's own contributions prove.
_CONCLUSIVE_KINDS = frozenset({"overwritten", "use_dropped", "counted_twice", "stale", "detached"})


def explain_traversal(failures: PointFailures, engine: Engine) -> None:
    """Blame a pass that takes a wrong way; all failures follow from it.

    Diagnoses at single tensors stay if they name the same kind, or if the engine passes the small graphs.
    """
    places = failures.failed_here((ClaimKind.GRADIENT,), engine.name)
    places = places or failures.failed((ClaimKind.GRADIENT,), engine.name)  # failures here were excused
    if all(failures.comparisons[place].consequence_of for place in places):
        return
    step = min(failures.comparisons[place].step for place in places)
    if failures.context.case.steps[step].action != "backward" or not failures.flow(step).is_small:
        return
    try:
        found = _find_traversal_fault(failures, engine, step, places)
    except COMPUTATION_ERRORS:
        return
    if found is None:
        return
    everywhere = [
        place
        for place, c in enumerate(failures.comparisons)
        if c.status == "failed" and c.what in GRADIENTS and c.engine == engine.name
    ]
    if not _is_already_diagnosed(failures, places, found):
        for place in everywhere:
            failures.change(place, cause=None, diagnoses=(), consequence_of=None)
        failures.blame(_lead(failures, places), BACKWARD_PASS, (found,))
    causes = (failures.comparisons[place].cause for place in places)
    failures.mark_consequences(next(cause.origin for cause in causes if cause is not None), everywhere)


def _find_traversal_fault(failures: PointFailures, engine: Engine, step: int, places: list[int]) -> Diagnosis | None:
    """Return the fault that small graphs show, or else the case."""
    causes = [failures.comparisons[place] for place in places if failures.comparisons[place].cause is not None]
    kinds = {d.kind for c in causes for d in c.diagnoses}
    is_explained = bool(causes) and (all(map(_is_conclusive, causes)) or kinds == {"passed_on_early"})
    general = diagnose_small_graphs(engine)
    if general is None and _is_repeated_pass(failures.flow(step)):
        general = diagnose_small_graphs(engine, 2)
    if general is None and is_explained:
        return None
    here = diagnose_case(failures.context.points, failures.point, engine, step)
    if general is not None:
        return here if here is not None and here.kind == general.kind else general
    return None if here is not None and "mutated" in kinds and here.kind != "mutated" else here


def _is_conclusive(c: Comparison) -> bool:
    return any(d.kind in _CONCLUSIVE_KINDS and d.confidence == "confirmed" for d in c.diagnoses)


def _is_already_diagnosed(failures: PointFailures, places: list[int], found: Diagnosis) -> bool:
    """Return whether the only known cause is this kind with confidence."""
    causes = [failures.comparisons[place] for place in places if failures.comparisons[place].cause is not None]
    diagnoses = causes[0].diagnoses if len(causes) == 1 else ()
    return any(d.kind == found.kind and d.confidence == "confirmed" for d in diagnoses)


def _lead(failures: PointFailures, places: list[int]) -> int:
    """Return the place of the failure that shows it, an input's if possible."""
    inputs = [place for place in places if failures.comparisons[place].tensor in failures.context.case.inputs]
    return min(inputs or places)


def _is_repeated_pass(flow: GradientFlow) -> bool:
    for step in reversed(flow.problem.case.steps[: flow.step]):
        if step.action == "forward":
            return False
        if step.action == "backward" and step.raises is None:
            return True
    return False
