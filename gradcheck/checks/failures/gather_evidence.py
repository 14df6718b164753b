"""Evidence of a failure for `diagnosis`, at its point and nearby."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import islice

import numpy as np

from gradcheck.autograd.tensor import Tensor
from gradcheck.checks.claims.cotangents import is_of_ones, operations_of
from gradcheck.checks.claims.operations import gradient_positions
from gradcheck.checks.claims.stated_claims import align_dtypes
from gradcheck.checks.failures.diagnosis.catalogue import Evidence, ReferencePullback, Rule, with_arrays
from gradcheck.checks.failures.fault_localization import Fault, find_faults, gradient_increments
from gradcheck.checks.failures.gradient_flow import BackwardRecord, GradientFlow
from gradcheck.checks.points.drawing import Points, scaled_array
from gradcheck.checks.points.point import Point
from gradcheck.checks.result import Operation, WrongOperation
from gradcheck.engines.base import Application, Engine
from gradcheck.engines.recording import arrays
from gradcheck.errors import GradcheckError
from gradcheck.facts import Fact, fact
from gradcheck.language.case import Claim
from gradcheck.language.random_streams import stream

#: How many further points give evidence.
MORE_POINTS = 2
#: Cotangents grow from point to point, so that truncation to integers does not give zeros.
_LARGER = 8
#: The most ops for which each contribution's alternatives are computed.
MOST_OPS = 5_000
#: The most ops of a formula's graph, and the most paths that are cut, one by one.
_MOST_OPS_CUT, _MOST_PATHS = 500, 24


# One op alone, in the engine and in the reference -----------------------------------------------------


def evidence_of_rule(wrong: WrongOperation, points: Points, point: Point) -> Iterator[Evidence]:
    """Yield the evidence of one op's rule, at its own numbers and nearby."""
    dtype = point.problem.dtype
    pullback = make_reference_pullback(points.engines.reference, dtype)
    yield from evidence_of_operation(wrong.operation, wrong.index, wrong.mine.gradients, pullback)
    for number in range(1, MORE_POINTS + 1):
        application = _counterpart(wrong, points.nearby_point(point, number).applications, number)
        (drawn,) = operations_of([application], 7919 * number + wrong.number)
        cotangents = tuple(None if c is None else np.asarray(_LARGER**number * c) for c in drawn.cotangents)
        if is_of_ones(wrong.operation):  # the engine may take no others
            cotangents = wrong.operation.cotangents
        (mine,) = wrong.engine.pull_back([application], [cotangents], dtype)
        if not mine.error:
            yield from evidence_of_operation(Operation(application, cotangents), wrong.index, mine.gradients, pullback)


def evidence_of_operation(
    operation: Operation, index: int, gradients: Sequence[np.ndarray | None], pullback: ReferencePullback
) -> Iterator[Evidence]:
    """Yield the evidence at one point, if the reference has gradients there."""
    application, cotangents = operation.application, operation.cotangents
    wants = tuple(pullback(replace(application, recorded=None), cotangents))
    places = gradient_positions(application)
    if not index < len(places) or not index < len(gradients) or not wants:
        return
    rule = Rule(application, places[index], index, cotangents, wants, pullback)
    want = wants[index]
    yield Evidence(gradients[index], np.zeros_like(rule.tensor) if want is None else want, rule=rule)


def make_reference_pullback(reference: Engine, dtype: np.dtype) -> ReferencePullback:
    """Return the reference as a function of an op; it returns () for errors."""

    def pullback(application: Application, cotangents: Sequence[np.ndarray | None]) -> Sequence[np.ndarray | None]:
        try:
            (found,) = reference.pull_back([application], [cotangents], dtype)
        except (GradcheckError, ValueError, TypeError, IndexError):  # an invalid application
            return ()
        return () if found.error else found.gradients

    return pullback


def _counterpart(wrong: WrongOperation, applications: Sequence[Application], number: int) -> Application:
    """Return the same op at another point, or with scaled arguments."""
    own = wrong.application
    if wrong.number < len(applications):
        found = applications[wrong.number]
        if found.op is own.op and found.owner == own.owner and found.outputs == own.outputs:
            return found
    generator = stream(wrong.number, "counterpart", number)
    return with_arrays(own, [scaled_array(array, generator) for array in arrays(own.args, own.kwargs)])


# The accumulation of a gradient ------------------------------------------------------------------------


def evidence_of_accumulation(fault: Fault, engine: Engine, points: Points, point: Point) -> Iterator[Evidence]:
    """Yield the evidence of a gradient after one pass, here and nearby."""
    for number in range(MORE_POINTS + 1):
        near = points.nearby_point(point, number)
        if fault.step < min(len(near.evaluation(engine).states), len(near.want.states)):
            yield from _of_tensor(fault, engine, near)


def _of_tensor(fault: Fault, engine: Engine, point: Point) -> Iterator[Evidence]:
    name, step = fault.tensor, fault.step
    mine = point.evaluation(engine)
    flow = GradientFlow(point.problem, step)
    gradients = gradient_increments(mine, step)
    _, record = find_faults(flow, gradients)
    want = record.expected.get(name)
    if want is None:
        return
    tensor = flow.tensors[name]
    before = [state.gradients.get(name) for state in reversed(mine.states[:step])]
    is_root = name in point.problem.seeds[step]
    others = {n: g for n, g in gradient_increments(point.want, step).items() if n != name and g is not None}
    yield Evidence(
        gradients.get(name),
        want,
        scale=record.scale(tensor),
        uses=flow.uses(record, tensor) if len(flow.owners) <= MOST_OPS else (),
        earlier=next((gradient for gradient in before if gradient is not None and np.any(gradient)), None),
        others=others,
        engine_gradients={n: g for n, g in gradients.items() if n != name and g is not None},
        is_root=is_root,
        reseeded={fact("ones_in_its_place"): np.ones_like(want)} if is_root else {},
    )


def only_use(point: Point, flow: GradientFlow, name: str, gradients: Mapping[str, np.ndarray | None]) -> Rule | None:
    """Return the one op that uses a tensor, with its cotangent; else None."""
    children = flow.children(name)
    if len(children) != 1:
        return None
    (owner,) = children
    own = [application for application in point.applications if application.owner == owner]
    incoming = gradients.get(owner)
    if len(own) != 1 or incoming is None or len(own[0].outputs) != 1:
        return None
    (application,) = own
    places = gradient_positions(application)
    index = _place_of(flow.tensors[name].data, application, places)
    if index is None:
        return None
    pullback = make_reference_pullback(point.engines.reference, point.problem.dtype)
    wants = tuple(pullback(application, [incoming]))
    return Rule(application, places[index], index, (incoming,), wants, pullback) if wants else None


def _place_of(value: np.ndarray, application: Application, places: list[int]) -> int | None:
    """Return which of the op's tensors this is; None for none or several."""
    tensors = list(arrays(application.args, application.kwargs))
    same = [value.dtype == tensors[place].dtype and np.array_equal(value, tensors[place]) for place in places]
    return same.index(True) if same.count(True) == 1 else None


# A formula, and the gradient without each path ---------------------------------------------------------


def evidence_of_formula(name: str, claim: Claim, points: Iterable[Point]) -> Iterator[Evidence]:
    """Yield the evidence of a formula for one gradient, at each point."""
    for point in points:
        step = point.last_step
        if step >= len(point.want.states):
            continue
        scope = point.scope(step)
        want = scope.gradients.get(name)
        if want is None:
            continue
        try:
            got, want = align_dtypes(scope.array_of(claim.expr), want)
        except GradcheckError:  # cannot be computed here
            continue
        others = {n: g for n, g in scope.gradients.items() if n != name}
        yield with_graph(Evidence(got, want, others=others, is_stated=True), name, point)


def with_graph(plain: Evidence, name: str, point: Point) -> Evidence:
    """Return the evidence with paths of the graph, for a case of one pass."""
    if len(point.problem.case.steps) != 1:
        return plain
    flow = GradientFlow(point.problem, point.last_step)
    if name not in flow.tensors or len(flow.owners) > _MOST_OPS_CUT:
        return plain
    record = flow.run_backward()
    known = {**plain.others, **plain.seeds, name: plain.want}
    gradients = {n: known.get(n) for n in flow.tensors}
    return replace(
        plain,
        scale=record.scale(flow.tensors[name]),
        without_path=_LazyMapping(_gradients_without_paths(flow, record, name)),
        reseeded=_LazyMapping(_reseeded(flow, record, name)),
        rule=only_use(point, flow, name, gradients),
    )


class _LazyMapping(Mapping[Fact, np.ndarray]):
    """The first _MOST_PATHS items, each a backward pass, computed on demand."""

    def __init__(self, found: Iterator[tuple[Fact, np.ndarray]]) -> None:
        self._found = found

    @cached_property
    def _known(self) -> dict[Fact, np.ndarray]:
        return dict(islice(self._found, _MOST_PATHS))

    def __getitem__(self, what: Fact) -> np.ndarray:
        return self._known[what]

    def __iter__(self) -> Iterator[Fact]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)


def _gradients_without_paths(
    flow: GradientFlow, record: BackwardRecord, name: str
) -> Iterator[tuple[Fact, np.ndarray]]:
    """Yield the gradient without each use, then without uses of tensors above."""
    uses = flow.uses(record, flow.tensors[name])
    whole = record.expected.get(name)
    if whole is None:
        return
    owners = [use.owner for use in uses]
    for number, use in zip(_forward_numbers(record, flow.tensors[name]), uses, strict=True):
        path = fact("path", entry=use.owner)
        if owners.count(use.owner) > 1:
            path = fact("path_use", op=use.op, entry=use.owner, number=number, count=len(uses))
        if len(uses) > 1:
            yield path, whole - use.share
    if len(set(owners)) < len(owners):
        for owner in dict.fromkeys(owners):
            yield fact("path", entry=owner), flow.run_backward(cut=(name, owner)).expected[name]
    for above in flow.tensors:
        if above != name and name in flow.ancestors(above) and len(flow.children(above)) > 1:
            for entry in sorted(flow.children(above)):
                without = flow.run_backward(cut=(above, entry)).expected.get(name)
                if without is not None:
                    yield fact("path_by_way_of", entry=entry, above=above), without


def _forward_numbers(record: BackwardRecord, tensor: Tensor) -> list[int]:
    """Return the numbers of uses; a backward meets the last use first."""
    received = record.received.get(tensor, ())
    first = {c.child: -at for at, c in reversed([*enumerate(received)])}
    order = sorted(range(len(received)), key=lambda at: first[received[at].child])
    return [number for _, number in sorted(zip(order, range(1, len(order) + 1), strict=True))]


def _reseeded(flow: GradientFlow, record: BackwardRecord, name: str) -> Iterator[tuple[Fact, np.ndarray]]:
    """Yield the gradient with ones in place of each gradient above."""
    for above, gradient in record.expected.items():
        if above != name and name in flow.ancestors(above) and not np.all(gradient == 1):
            found = flow.run_backward({above: np.ones_like(gradient)}).expected.get(name)
            if found is not None:
                yield fact("ones_for", tensor=above), found
