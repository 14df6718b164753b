"""Evidence about a gradient that does not follow from those of its children: what each use contributes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from gradcheck.checks.claims.operations import positions
from gradcheck.checks.failures.diagnosis.evidence import Evidence, Rule
from gradcheck.checks.failures.evidence import MORE_POINTS
from gradcheck.checks.failures.evidence.rule import asking
from gradcheck.checks.failures.gradient_flow import GradientFlow
from gradcheck.checks.failures.localize import Fault, added, faults
from gradcheck.checks.points import Point, Points
from gradcheck.engines.base import Application, Engine
from gradcheck.engines.recording import arrays
from gradcheck.facts import fact

#: The most ops for which the alternatives to each contribution are worked out.
MOST_OPS = 5_000


def evidence_of_accumulation(fault: Fault, engine: Engine, points: Points, point: Point) -> Iterator[Evidence]:
    """What is known of one tensor's gradient after one pass, at this point and at others nearby."""
    for number in range(MORE_POINTS + 1):
        near = points.nearby(point, number)
        if fault.step < min(len(near.evaluation(engine).states), len(near.want.states)):
            yield from _at(fault, engine, near)


def _at(fault: Fault, engine: Engine, point: Point) -> Iterator[Evidence]:
    name, step = fault.tensor, fault.step
    mine = point.evaluation(engine)
    flow = GradientFlow(point.problem, step)
    gradients = added(mine, step)
    _, followed = faults(flow, gradients)
    want = followed.expected.get(name)
    if want is None:
        return
    tensor = flow.tensors[name]
    before = (state.gradients.get(name) for state in reversed(mine.states[:step]))
    is_root = name in point.problem.seeds[step]
    others = {n: g for n, g in added(point.want, step).items() if n != name and g is not None}
    yield Evidence(
        gradients.get(name),
        want,
        scale=followed.scale(tensor),
        uses=flow.uses(followed, tensor) if len(flow.owners) <= MOST_OPS else (),
        earlier=next((gradient for gradient in before if gradient is not None), None),
        others=others,
        neighbours={n: g for n, g in gradients.items() if n != name and g is not None},
        is_root=is_root,
        reseeded={fact("ones_in_its_place"): np.ones_like(want)} if is_root else {},
    )


def only_use(point: Point, flow: GradientFlow, name: str, gradients: Mapping[str, np.ndarray | None]) -> Rule | None:
    """The only op that uses the tensor, where there is just one in one entry, with the incoming gradient it got."""
    children = flow.children(name)
    if len(children) != 1:
        return None
    (owner,) = children
    own = [application for application in point.applications if application.owner == owner]
    incoming = gradients.get(owner)
    if len(own) != 1 or incoming is None or len(own[0].outputs) != 1:
        return None
    (application,) = own
    places = positions(application)
    index = _place_of(flow.tensors[name].data, application, places)
    if index is None:
        return None
    ask = asking(point.engines.reference, point.problem.dtype)
    wants = tuple(ask(application, [incoming]))
    return Rule(application, places[index], index, (incoming,), wants, ask) if wants else None


def _place_of(value: np.ndarray, application: Application, places: list[int]) -> int | None:
    """Which of the op's tensors this is; None where none or several are."""
    tensors = list(arrays(application.args, application.kwargs))
    mine = [index for index, place in enumerate(places) if _same(tensors[place], value)]
    return mine[0] if len(mine) == 1 else None


def _same(one: np.ndarray, other: np.ndarray) -> bool:
    return one.shape == other.shape and one.dtype == other.dtype and bool(np.array_equal(one, other))
