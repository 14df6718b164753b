"""Which wrong way through a graph an engine goes: of a case, by the gradients of its inputs, or of small graphs of
single numbers, on which every way that is known gives something else.

The small graphs are asked more than once: an engine whose classes keep operands in a set takes them in another order
each time, and what would be chance in its answers is one disease in some order each time.
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
from gradcheck.checks.closeness.nearly_equal import nearly_equal
from gradcheck.checks.failures.fault_localization import gradient_increments
from gradcheck.checks.failures.gather_evidence import MORE_POINTS
from gradcheck.checks.failures.gradient_flow import GradientFlow
from gradcheck.checks.failures.point_failures import COMPUTATION_ERRORS
from gradcheck.checks.failures.traversal_faults import (
    AS_WRITTEN,
    REVERSED,
    TRAVERSAL_FAULTS,
    Totals,
    TraversalFault,
    TraversedGraph,
    run_in_orders,
)
from gradcheck.checks.options import Engines
from gradcheck.checks.points.drawing import Points
from gradcheck.checks.points.point import Point
from gradcheck.checks.result import Cause, Diagnosis
from gradcheck.engines.base import Engine, Evaluation, own_dtype
from gradcheck.facts import fact
from gradcheck.language.problem import Problem
from gradcheck.language.sampling import literal_problem

#: The cause of all that goes wrong in a backward pass as a whole.
BACKWARD_PASS = Cause(fact("the_backward_pass"), fact("goes_wrong_through_graph"))
#: Graphs in which every tensor but two is used again, and one a third time: of two uses, what is passed on at each
#: arrival is what comes of counting one of them twice, and what is passed on at the first what comes of dropping one.
#: Sums come last, whose operands may share an array; and of two operands, one of which is made of the other, either
#: stands first, for one may be met too early. A second graph, since on any one some two ways happen to agree, or one
#: happens to be right.
_INPUTS = {"a": 1.5, "b": -2.0}
_GRAPHS = (
    {"c": "a * b", "d": "c * a", "e": "d * c", "f": "d + e", "g": "f + a"},
    {"c": "b * a", "d": "c + b", "e": "b + d", "f": "c * e"},
)
#: As what its numbers are given, and whether an incoming gradient is: what cannot be asked in one form is in the next,
#: and what has no name where a total gives the incoming gradient, where a pass begins at the root.
_FORMS = ((1, True), (0, False), (2, True))
#: How often that is asked of an engine at each point.
_TIMES = 2

Gradients = dict[str, np.ndarray | None]


class _Observation(NamedTuple):
    """What an engine had for the inputs after one pass; `held` is what earlier passes started from."""

    flow: GradientFlow
    graph: TraversedGraph
    gradients: Gradients
    inputs: Sequence[str]

    @property
    def is_right(self) -> bool:
        followed = self.flow.run_backward()
        return self.fits({self.flow.tensors[name]: gradient for name, gradient in followed.expected.items()})

    def fits(self, totals: Totals) -> bool:
        """Whether this is what the inputs have."""
        tensors = [(name, self.flow.tensors[name]) for name in self.inputs]
        return all(
            _same(self.gradients.get(name), totals.get(tensor, np.zeros_like(tensor.data)))
            for name, tensor in tensors
            if tensor.requires_grad
        )


#: What was seen at one point: of the case, or of each small graph.
_Observations = tuple[_Observation, ...]


def diagnose_case(points: Points, point: Point, engine: Engine, step: int) -> Diagnosis | None:
    """The wrong pass that gives what the engine has at this point and at those nearby; None where there is none."""
    near = [points.nearby_point(point, number) for number in range(MORE_POINTS + 1)]
    seen = [(_observe(one.problem, one.evaluation(engine), step),) for one in near]
    return None if seen[0][0].is_right else _match_fault(seen)


def diagnose_small_graphs(engine: Engine, reference: Engine, passes: int = 1) -> Diagnosis | None:
    """The wrong pass that gives what the engine has for the small graphs, after so many; None where it is right there,
    or where no known one gives that."""
    for form in _FORMS:
        try:
            seen = _observe_small_graphs(engine, reference, passes, form)
            if _is_right(seen):
                return None
            found = _match_fault(seen) or _match_fault(seen, in_any_order=True)
        except COMPUTATION_ERRORS:
            continue
        if found is not None:
            return replace(found, evidence=fact("shown_by_small_graph"))
    return None


def is_right_on_small_graph(engine: Engine, reference: Engine) -> bool:
    """Whether it is; True where it cannot be asked."""
    for form in _FORMS:
        with suppress(*COMPUTATION_ERRORS):
            return _is_right(_observe_small_graphs(engine, reference, 1, form))
    return True


def separate_by_small_graphs(
    diagnoses: tuple[Diagnosis, ...], engine: Engine, reference: Engine
) -> tuple[Diagnosis, ...]:
    """Return the one of `overwritten` and `use_dropped` that the small graphs show, if a tensor shows both.

    Of two uses, one that is overwritten leaves the same as one that is dropped. Of three uses it does not.
    """
    kinds = {diagnosis.kind for diagnosis in diagnoses}
    if not kinds >= {"overwritten", "use_dropped"} or is_right_on_small_graph(engine, reference):
        return diagnoses
    found = diagnose_small_graphs(engine, reference)
    kind = "use_dropped" if found is None else found.kind
    kept = [diagnosis for diagnosis in diagnoses if diagnosis.kind == kind]
    if len(kept) != 1:
        return diagnoses
    return (replace(kept[0], evidence=fact("small_graph_shows", evidence=kept[0].evidence), confidence="confirmed"),)


def _is_right(seen: Sequence[_Observations]) -> bool:
    return all(one.is_right for point in seen for one in point)


def _observe_small_graphs(
    engine: Engine, reference: Engine, passes: int, form: tuple[int, bool]
) -> list[_Observations]:
    """What the engine makes of them, at several points and more than once. Raises what is in CANNOT."""
    problems = _small_graphs(passes, own_dtype(engine), form)
    return list(zip(*(_observe_graph(problem, engine, reference, passes) for problem in problems), strict=True))


def _observe_graph(problem: Problem, engine: Engine, reference: Engine, passes: int) -> list[_Observation]:
    points = Points(problem, Engines((engine,), reference))
    with using_default_dtype(real_of(problem.dtype)):
        problems = [points.nearby_point(points.own, number).problem for number in range(MORE_POINTS + 1)]
        return [_observe(one, engine.evaluate(one), passes - 1) for one in problems for _ in range(_TIMES)]


@lru_cache
def _small_graphs(passes: int, dtype: str | None, form: tuple[int, bool]) -> tuple[Problem, ...]:
    """In a form: of how many dimensions the numbers are, and whether an incoming gradient is given."""
    dimensions, is_given = form
    inputs = {name: np.full((1,) * dimensions, number).tolist() for name, number in _INPUTS.items()}
    incoming = np.ones((1,) * dimensions).tolist() if is_given else None
    return tuple(
        literal_problem("reuse", inputs, graph, {list(graph)[-1]: incoming}, passes, dtype) for graph in _GRAPHS
    )


def _match_fault(seen: Sequence[_Observations], *, in_any_order: bool = False) -> Diagnosis | None:
    """The first that gives all that was seen: with operands as they are written, then the other way round; or, in any
    order, with an order for each. By recursion, the first to arrive is the last of the other way round, so that what
    overwrites may look like what passes on the first alone: what is as written is likelier."""
    for order in (None,) if in_any_order else (AS_WRITTEN, REVERSED):
        for wrong in TRAVERSAL_FAULTS:
            is_asked = wrong.in_any_order or not in_any_order
            if is_asked and all(_explains(wrong, point, order) for point in seen):
                return Diagnosis(wrong.kind, wrong.message, "confirmed", fact("computed_at_points", points=len(seen)))
    return None


def _explains(wrong: TraversalFault, point: _Observations, order: int | None) -> bool:
    """Whether one of its passes gives all that was seen there, in this order of operands or, of None, in one for each.
    Where a pass begins at a total that is made of its root, another may show than where it begins at the root."""
    return any(
        all(
            any(map(one.fits, run_in_orders(one.graph, run, one.graph.operand_orders() if order is None else [order])))
            for one in point
        )
        for run in wrong.traversals
    )


def _observe(problem: Problem, evaluation: Evaluation, step: int) -> _Observation:
    """Raises LookupError where the engine has not come so far."""
    flow = GradientFlow(problem, step)
    roots, seeds = flow.roots_and_seeds()
    graph = TraversedGraph(
        roots, seeds, list(_earlier_starts(flow)), {tensor: number for number, tensor in enumerate(flow.owners)}
    )
    inputs = [name for name in problem.inputs if name in flow.tensors]
    return _Observation(flow, graph, gradient_increments(evaluation, step), inputs)


def _earlier_starts(flow: GradientFlow) -> Iterator[Totals]:
    """Where the passes just before started that went over the same graph, and were not forgotten."""
    problem, first = flow.problem, flow.step
    while first and problem.case.steps[first - 1].action == "backward":
        first -= 1
    for step in problem.seeds[first : flow.step]:
        seeds = ((flow.tensors[root], seed) for root, seed in step.items())
        yield {root: np.ones_like(root.data) if seed is None else seed for root, seed in seeds}


def _same(got: np.ndarray | None, want: np.ndarray) -> bool:
    return nearly_equal(got, want) if got is not None else not np.any(want)
