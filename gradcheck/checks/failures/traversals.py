"""How a backward pass goes through its graph, told by the inputs' gradients: what wrong ways through it would give.

Classes that keep no gradients of intermediates show nothing of a pass but its end, and where they do show them, one
disease looks like another at every tensor. So passes are run here on the core's graph in the ways in which they are
written wrongly, and one that gives what the engine has for every input, at each point, is what the engine does. Where
the engine writes the case out in other ops than the core, a small graph in which it does not is asked instead.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from gradcheck.autograd.fast import pull
from gradcheck.autograd.modes import using_default_dtype
from gradcheck.autograd.tensor import Tensor
from gradcheck.checks.claim_kind import ClaimKind
from gradcheck.checks.closeness.tolerance import base
from gradcheck.checks.failures.evidence import MORE_POINTS
from gradcheck.checks.failures.gradient_flow import GradientFlow
from gradcheck.checks.failures.localize import added
from gradcheck.checks.failures.point_failures import CANNOT, PointFailures
from gradcheck.checks.options import Engines
from gradcheck.checks.points import Point, Points
from gradcheck.checks.result import Cause, Diagnosis
from gradcheck.engines.base import Engine, own_dtype
from gradcheck.facts import Fact, fact
from gradcheck.language.sampling import literal_problem

Totals = dict[Tensor, np.ndarray]
#: A pass from roots with their gradients: what every tensor has received in the end. None where it takes too long.
Pass = Callable[["_Graph"], Totals | None]
#: So many visits are made at most: a pass on each arrival makes 2^n of them.
_MOST_VISITS = 2_000
#: Of these a tensor's own contributions are proof already.
_TOLD = frozenset({"overwritten", "use_dropped", "stale", "detached"})
#: A graph in which every tensor but one is used again.
_INPUTS, _GRAPH = {"a": [1.5], "b": [-2.0]}, {"c": "a * b", "d": "c * a", "e": "d + c", "f": "d * e"}


@dataclass(frozen=True, slots=True)
class _Graph:
    """Where a pass starts, in which order it goes through an op's operands, and where earlier passes over the same
    graph started."""

    roots: Sequence[Tensor]
    seeds: Sequence[np.ndarray]
    earlier: Sequence[Totals]
    backwards: bool

    def shares(self, tensor: Tensor, gradient: np.ndarray) -> list[tuple[Tensor, np.ndarray]]:
        """What a tensor passes on to each operand."""
        if tensor.creation_op is None:
            return []
        found = list(pull(tensor, np.asarray(gradient)))
        return found[::-1] if self.backwards else found

    def totals(self) -> Totals:
        """What roots begin with."""
        return {root: np.array(seed) for root, seed in zip(self.roots, self.seeds, strict=True)}


# Passes in a wrong order ------------------------------------------------------------------------------


def _in_turn(graph: _Graph, *, once: bool, first_in: bool) -> Totals | None:
    """What a tensor has by then it passes on when its turn comes: on each arrival, or `once`."""
    totals, waiting, seen = graph.totals(), deque(graph.roots), set[Tensor]()
    for _ in range(_MOST_VISITS):
        if not waiting:
            return totals
        tensor = waiting.popleft() if first_in else waiting.pop()
        if once and tensor in seen:
            continue
        seen.add(tensor)
        shares = graph.shares(tensor, totals[tensor])
        for operand, share in shares:
            totals[operand] = totals[operand] + share if operand in totals else share
        waiting.extend(operand for operand, _ in (shares if first_in else shares[::-1]))
    return None


def _at_once(graph: _Graph) -> Totals | None:
    """Recursion: as soon as something arrives at an operand, all that it has by then is passed on."""
    totals = graph.totals()
    waiting = [iter(graph.shares(root, totals[root])) for root in reversed(graph.roots)]
    for _ in range(_MOST_VISITS):
        if not waiting:
            return totals
        operand, share = next(waiting[-1], (None, None))
        if operand is None or share is None:
            waiting.pop()
            continue
        totals[operand] = totals[operand] + share if operand in totals else share
        waiting.append(iter(graph.shares(operand, totals[operand])))
    return None


def _in_place(graph: _Graph) -> Totals | None:
    """In the right order; but what is passed on unchanged is the same array, and arrays are added to in place."""
    totals = graph.totals()
    for tensor in _ordered(graph):
        if tensor not in totals:
            continue
        own = totals[tensor]
        for operand, share in graph.shares(tensor, own):
            passed = own if share.shape == own.shape and np.array_equal(share, own) else np.array(share)
            if operand in totals:
                totals[operand] += passed
            else:
                totals[operand] = passed
    return totals


def _latest(graph: _Graph) -> Totals:
    """In the right order; but what arrives replaces what has arrived."""
    totals = graph.totals()
    for tensor in _ordered(graph):
        if tensor in totals:
            totals.update(graph.shares(tensor, totals[tensor]))
    return totals


def _left_over(graph: _Graph, *, anew: bool = False) -> Totals | None:
    """In the right order; but what earlier passes have left everywhere is passed on again, at roots unless these are
    set `anew`."""
    if not graph.earlier:
        return None
    totals: Totals = {}
    before: Totals = {}
    for starts in (*graph.earlier, graph.totals()):
        before = dict(totals)
        for root, seed in starts.items():
            totals[root] = seed if anew else totals.get(root, 0) + seed
        for tensor in _ordered(graph):
            if tensor in totals:
                for operand, share in graph.shares(tensor, totals[tensor]):
                    totals[operand] = totals.get(operand, 0) + share
    return {tensor: total - before.get(tensor, 0) for tensor, total in totals.items()}


def _ordered(graph: _Graph) -> list[Tensor]:
    """Every tensor before its operands."""
    found: list[Tensor] = []
    seen: set[Tensor] = set()
    stack = [(root, False) for root in graph.roots]
    while stack:
        tensor, done = stack.pop()
        if done:
            found.append(tensor)
        elif tensor not in seen:
            seen.add(tensor)
            operands = tensor.creators if graph.backwards else tensor.creators[::-1]
            stack += [(tensor, True), *((operand, False) for operand in operands)]
    return found[::-1]


_EACH, _FIRST = fact("passed_on_each_arrival"), fact("passed_on_when_first_met")
#: The kind of mistake, what is told of it, and the pass, in the ways in which it may begin at roots.
PASSES: tuple[tuple[str, Fact, tuple[Pass, ...]], ...] = (
    ("passed_on_early", _EACH, (_at_once,)),
    ("passed_on_early", _EACH, (lambda graph: _in_turn(graph, once=False, first_in=False),)),
    ("passed_on_early", _EACH, (lambda graph: _in_turn(graph, once=False, first_in=True),)),
    ("passed_on_early", _FIRST, (lambda graph: _in_turn(graph, once=True, first_in=True),)),
    ("passed_on_early", _FIRST, (lambda graph: _in_turn(graph, once=True, first_in=False),)),
    ("stale", fact("stale_everywhere"), (_left_over, lambda graph: _left_over(graph, anew=True))),
    ("overwritten", fact("overwritten_everywhere"), (_latest,)),
    ("mutated", fact("passed_on_array_shared"), (_in_place,)),
)


# Which of them it is ----------------------------------------------------------------------------------


def explain_traversal(failures: PointFailures, engine: Engine) -> None:
    """Tell of a pass that goes through the graph in a wrong way, where that explains every input's gradient, and what
    has been found at single tensors does not prove another mistake; all else follows from it."""
    places = failures.failed_here((ClaimKind.GRADIENT,), engine.name)
    known = [d for place in places for d in failures.comparisons[place].diagnoses]
    kinds = {d.kind for d in known}
    if not places or any(d.kind in _TOLD and d.confidence == "confirmed" for d in known):
        return
    if kinds == {"passed_on_early"}:
        return
    step = min(failures.comparisons[place].step for place in places)
    inputs = {place for place in places if failures.comparisons[place].tensor in failures.context.case.inputs}
    if not inputs or failures.context.case.steps[step].action != "backward" or not failures.flow(step).is_small:
        return
    try:
        found = _found(failures.context.points, failures.point, engine, step) or _of_small_graph(
            engine, failures.reference, 2 if _is_second(failures.flow(step)) else 1
        )
    except CANNOT:
        return
    if found is None or ("mutated" in kinds and found.kind != "mutated"):
        return
    for place in places:
        failures.change(place, cause=None, diagnoses=(), consequence_of=None)
    cause = Cause(fact("the_backward_pass"), fact("goes_wrong_through_graph"))
    failures.blame(min(inputs), cause, (found,))
    failures.follow_from(cause.origin, failures.failed((ClaimKind.GRADIENT, ClaimKind.EXPECTED), engine.name))


def _found(points: Points, point: Point, engine: Engine, step: int) -> Diagnosis | None:
    """The pass that gives what the engine has at this point and at those nearby."""
    listed = [points.nearby(point, number) for number in range(MORE_POINTS + 1)]
    seen = [(GradientFlow(p.problem, step), added(p.evaluation(engine), step)) for p in listed]
    inputs = [name for name in point.problem.inputs if all(name in flow.tensors for flow, _ in seen)]
    right = {flow.tensors[name]: gradient for flow, _ in seen[:1] for name, gradient in flow.follow().expected.items()}
    if _fits(right, *seen[0], inputs):  # but for a dtype, or rounding
        return None
    for (kind, told, runs), backwards in product(PASSES, (False, True)):
        if all(any(_fits(_after(one[0], run, backwards), *one, inputs) for run in runs) for one in seen):
            return Diagnosis(kind, told, "confirmed", fact("computed_at_points", points=len(seen)))
    return None


def _of_small_graph(engine: Engine, reference: Engine, passes: int) -> Diagnosis | None:
    """The same of a small graph of single numbers, where so many passes are wrong there."""
    problem = literal_problem("reuse", _INPUTS, _GRAPH, {"f": [1.0]}, passes, own_dtype(engine))
    points = Points(problem, Engines((engine,), reference))
    with using_default_dtype(problem.dtype):
        mine, want = points.own.evaluation(engine), points.own.want
        if mine.error is not None or not mine.states:
            return None
        pairs = [(mine.states[-1].gradients.get(name), want.states[-1].gradients[name]) for name in _INPUTS]
        if all(right is not None and _same(got, right) for got, right in pairs):
            return None
        found = _found(points, points.own, engine, passes - 1)
    return None if found is None else replace(found, evidence=fact("shown_by_small_graph"))


def _after(flow: GradientFlow, run: Pass, backwards: bool) -> Totals | None:
    with np.errstate(all="ignore"):
        return run(_Graph(*flow.starts(), _earlier(flow), backwards))


def _is_second(flow: GradientFlow) -> bool:
    """Whether an earlier pass went over the same graph, whatever has been forgotten since."""
    for step in reversed(flow.problem.case.steps[: flow.step]):
        if step.action == "forward":
            return False
        if step.action == "backward" and step.raises is None:
            return True
    return False


def _earlier(flow: GradientFlow) -> list[Totals]:
    """Where the passes just before started that went over the same graph, and were not forgotten."""
    problem, found = flow.problem, list[Totals]()
    for number in range(flow.step - 1, -1, -1):
        if problem.case.steps[number].action != "backward":
            break
        seeds = ((flow.tensors[root], seed) for root, seed in problem.seeds[number].items())
        found.insert(0, {root: np.ones_like(root.data) if seed is None else seed for root, seed in seeds})
    return found


def _fits(
    totals: Totals | None, flow: GradientFlow, gradients: dict[str, np.ndarray | None], inputs: Sequence[str]
) -> bool:
    return totals is not None and all(_same(got, want) for got, want in _pairs(totals, flow, gradients, inputs))


def _pairs(
    totals: Totals, flow: GradientFlow, gradients: dict[str, np.ndarray | None], inputs: Sequence[str]
) -> Iterator[tuple[np.ndarray | None, np.ndarray]]:
    for name in inputs:
        tensor = flow.tensors[name]
        if tensor.requires_grad:
            yield gradients.get(name), totals.get(tensor, np.zeros_like(tensor.data))


def _same(got: np.ndarray | None, want: np.ndarray) -> bool:
    if got is None or got.shape != want.shape:
        return got is None and not np.any(want)
    rtol = 100 * base(got.dtype).rtol
    return bool(np.allclose(got, want, rtol, rtol * float(np.max(np.abs(want), initial=0.0))))
