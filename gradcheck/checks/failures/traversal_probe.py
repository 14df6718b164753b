"""Probes of a backward pass: the wrong way that explains its gradients.

A probe is the case, by its inputs' gradients, or one of three small graphs of single numbers, on which known ways
differ. A class that keeps no intermediate gradients shows only those of the inputs; in others, several wrong ways look
alike at each tensor. Small graphs run more than once: a class that keeps operands in a set takes them in another order
each time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from gradcheck.autograd.dtypes import real_of
from gradcheck.autograd.modes import using_default_dtype
from gradcheck.checks.closeness.compare import nearly_equal
from gradcheck.checks.failures.fault_localization import gradient_increments
from gradcheck.checks.failures.gather_evidence import MORE_POINTS
from gradcheck.checks.failures.gradient_flow import GradientFlow
from gradcheck.checks.failures.point_failures import COMPUTATION_ERRORS, GRADIENTS, PointFailures
from gradcheck.checks.failures.traversal_faults import (
    AS_WRITTEN,
    REVERSED,
    TRAVERSAL_FAULTS,
    Totals,
    TraversalFault,
    TraversedGraph,
    run_in_orders,
)
from gradcheck.checks.points.drawing import Points, scaled_problem
from gradcheck.checks.points.point import Point
from gradcheck.checks.result import Cause, Comparison, Diagnosis
from gradcheck.engines.base import Engine, Evaluation, own_dtype
from gradcheck.facts import fact
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.language.problem import Problem
from gradcheck.language.sampling import literal_problem

#: The cause that a wrong pass is.
BACKWARD_PASS = Cause(fact("the_backward_pass"), fact("goes_wrong_through_graph"))
#: Every tensor but two is used again, one a third time: of two uses, some ways look alike. Sums come last: their
#: operands may share an array. If one operand is made of the other, either stands first. On any one graph some two
#: ways agree, hence the second. The third has one op: only those of another may pass nothing on.
_INPUTS = {"a": 1.5, "b": -2.0}
_GRAPHS = (
    {"c": "a * b", "d": "c * a", "e": "d * c", "f": "d + e", "g": "f + a"},
    {"c": "b * a", "d": "c + b", "e": "b + d", "f": "c * e"},
    {"c": "a + b", "d": "c + a"},
)
#: The dimensions of the numbers, and whether a cotangent is given. Later forms serve engines that fail in the first.
_FORMS = ((1, True), (0, False), (2, True))
#: Runs at each point.
_TIMES = 2

Gradients = dict[str, np.ndarray | None]
#: Kinds that a tensor's own contributions prove.
_CONCLUSIVE_KINDS = frozenset({"overwritten", "use_dropped", "counted_twice", "stale", "detached"})


class _Recorded(NamedTuple):
    flow: GradientFlow
    graph: TraversedGraph
    inputs: Sequence[str]


class _Observation(NamedTuple):
    flow: GradientFlow
    graph: TraversedGraph
    inputs: Sequence[str]
    gradients: Gradients

    @property
    def is_right(self) -> bool:
        record = self.flow.run_backward()
        return self.fits({self.flow.tensors[name]: gradient for name, gradient in record.expected.items()})

    def fits(self, totals: Totals) -> bool:
        tensors = [(name, self.flow.tensors[name]) for name in self.inputs]
        pairs = ((self.gradients.get(n), totals.get(t, np.zeros_like(t.data))) for n, t in tensors if t.requires_grad)
        return all(not np.any(want) if got is None else nearly_equal(got, want) for got, want in pairs)


#: The observations at one point: of the case, or of each small graph.
_Observations = tuple[_Observation, ...]


def diagnose_case(points: Points, point: Point, engine: Engine, step: int) -> Diagnosis | None:
    """Return the wrong pass that explains the case's inputs here and nearby."""
    near = [points.nearby_point(point, number) for number in range(MORE_POINTS + 1)]
    seen = [(_observe(_recorded(one.problem, step), one.evaluation(engine)),) for one in near]
    first = seen[0][0]
    is_telling = any(np.any(gradient) for name in first.inputs if (gradient := first.gradients.get(name)) is not None)
    return _match_fault(seen) if is_telling and not first.is_right else None


def diagnose_small_graphs(engine: Engine, passes: int = 1) -> Diagnosis | None:
    """Return the wrong pass that explains the small graphs; None if none does."""
    for form in _FORMS:
        try:
            seen = _observe_small_graphs(engine, passes, form)
            if _is_right(seen):
                return None
            found = _match_fault(seen) or _match_fault(seen, in_any_order=True)
        except COMPUTATION_ERRORS:
            continue
        if found is not None:
            return replace(found, evidence=fact("shown_by_small_graph"))
    return None


def is_right_on_small_graph(engine: Engine) -> bool:
    """Return whether an engine is right on the small graphs, if it runs them."""
    for form in _FORMS:
        with suppress(*COMPUTATION_ERRORS):
            return _is_right(_observe_small_graphs(engine, 1, form))
    return True


def separate_by_small_graphs(diagnoses: tuple[Diagnosis, ...], engine: Engine) -> tuple[Diagnosis, ...]:
    """Return the likely one of `overwritten` and `use_dropped`, by three uses."""
    kinds = {diagnosis.kind for diagnosis in diagnoses}
    if not kinds >= {"overwritten", "use_dropped"} or is_right_on_small_graph(engine):
        return diagnoses
    found = diagnose_small_graphs(engine)
    kind = "use_dropped" if found is None else found.kind
    kept = [diagnosis for diagnosis in diagnoses if diagnosis.kind == kind]
    if len(kept) != 1:
        return diagnoses
    return (replace(kept[0], evidence=fact("small_graph_shows", evidence=kept[0].evidence), confidence="confirmed"),)


def _is_right(seen: Sequence[_Observations]) -> bool:
    return all(one.is_right for point in seen for one in point)


def _observe_small_graphs(engine: Engine, passes: int, form: tuple[int, bool]) -> list[_Observations]:
    graphs = _small_graphs(passes, own_dtype(engine), form)
    return list(zip(*(_observe_graph(points, engine) for points in graphs), strict=True))


def _observe_graph(points: Sequence[_Recorded], engine: Engine) -> list[_Observation]:
    with using_default_dtype(real_of(points[0].flow.problem.dtype)):
        return [_observe(one, engine.evaluate(one.flow.problem)) for one in points for _ in range(_TIMES)]


@lru_cache
def _small_graphs(passes: int, dtype: str | None, form: tuple[int, bool]) -> tuple[tuple[_Recorded, ...], ...]:
    """Return the small graphs in a form (see _FORMS), each at several points.

    They are kept with what faults compute on them, which is the same for every engine."""
    dimensions, is_given = form
    inputs = {name: np.full((1,) * dimensions, number).tolist() for name, number in _INPUTS.items()}
    incoming = np.ones((1,) * dimensions).tolist() if is_given else None
    problems = (
        literal_problem("reuse", inputs, graph, {list(graph)[-1]: incoming}, passes, dtype) for graph in _GRAPHS
    )
    return tuple(
        tuple(
            _recorded(scaled_problem(one, number) if number else one, passes - 1) for number in range(MORE_POINTS + 1)
        )
        for one in problems
    )


def _match_fault(seen: Sequence[_Observations], *, in_any_order: bool = False) -> Diagnosis | None:
    """Return the first fault that explains all observations.

    Operands are taken as written, then reversed; or, `in_any_order`, in any order for each observation. Written
    order comes first: reversed recursion makes overwriting look like keeping the first.
    """
    for order in (None,) if in_any_order else (AS_WRITTEN, REVERSED):
        for wrong in TRAVERSAL_FAULTS:
            is_asked = wrong.in_any_order or not in_any_order
            if is_asked and all(_explains(wrong, point, order) for point in seen):
                return Diagnosis(wrong.kind, wrong.message, "confirmed", fact("computed_at_points", points=len(seen)))
    return None


def _explains(wrong: TraversalFault, point: _Observations, order: int | None) -> bool:
    """Return whether one pass explains a point, in an order or (None) any."""
    return any(
        all(
            any(map(one.fits, run_in_orders(one.graph, run, one.graph.operand_orders() if order is None else [order])))
            for one in point
        )
        for run in wrong.traversals
    )


def _recorded(problem: Problem, step: int) -> _Recorded:
    """Record the graph of a problem. Raises LookupError for a missing step."""
    flow = GradientFlow(problem, step)
    roots, seeds = flow.roots_and_seeds()
    numbers = {tensor: number for number, tensor in enumerate(flow.owners)}
    graph = TraversedGraph(roots, seeds, list(_earlier_starts(flow)), numbers)
    return _Recorded(flow, graph, [name for name in problem.inputs if name in flow.tensors])


def _observe(recorded: _Recorded, evaluation: Evaluation) -> _Observation:
    return _Observation(*recorded, gradient_increments(evaluation, recorded.flow.step))


def _earlier_starts(flow: GradientFlow) -> Iterator[Totals]:
    """Yield the starts of the passes just before over the same graph."""
    problem, first = flow.problem, flow.step
    while first and problem.case.steps[first - 1].action == "backward":
        first -= 1
    for step in problem.seeds[first : flow.step]:
        seeds = ((flow.tensors[root], seed) for root, seed in step.items())
        yield {root: np.ones_like(root.data) if seed is None else seed for root, seed in seeds}


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
    failed = ((place, c) for place, c in enumerate(failures.comparisons) if c.status == "failed")
    everywhere = [place for place, c in failed if c.what in GRADIENTS and c.engine == engine.name]
    if not _is_already_diagnosed(failures, places, found):
        for place in everywhere:
            failures.change(place, cause=None, diagnoses=(), consequence_of=None)
        inputs = [place for place in places if failures.comparisons[place].tensor in failures.context.case.inputs]
        failures.blame(min(inputs or places), BACKWARD_PASS, (found,))
    causes = (failures.comparisons[place].cause for place in places)
    failures.mark_consequences(next(cause.origin for cause in causes if cause is not None), everywhere)


def _find_traversal_fault(failures: PointFailures, engine: Engine, step: int, places: list[int]) -> Diagnosis | None:
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


def _is_repeated_pass(flow: GradientFlow) -> bool:
    for step in reversed(flow.problem.case.steps[: flow.step]):
        if step.action == "forward":
            return False
        if step.action == "backward" and step.raises is None:
            return True
    return False
