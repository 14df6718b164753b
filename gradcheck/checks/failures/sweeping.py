"""Evidence about a gradient that does not follow from those of its children: what each use contributes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from gradcheck.checks.claims.operations import positions
from gradcheck.checks.failures.alone import MORE_POINTS, asking
from gradcheck.checks.failures.diagnosis import Evidence, Rule
from gradcheck.checks.failures.gradient_flow import Flow
from gradcheck.checks.failures.localize import Fault, added, faults
from gradcheck.checks.points import Elsewhere
from gradcheck.engines.base import Application, Engine, Evaluation
from gradcheck.engines.recording import arrays
from gradcheck.language.problem import Problem

#: The most ops for which the alternatives to each contribution are worked out.
MOST_OPS = 5_000


def evidence_of(fault: Fault, engine: Engine, reference: Engine, points: Elsewhere) -> Iterator[Evidence]:
    """What is known of one tensor's gradient after one pass, one point after another."""
    for number in range(MORE_POINTS + 1):
        problem = points.problem(number)
        mine = points.evaluation(engine, number)
        theirs = points.evaluation(reference, number)
        if fault.step >= min(len(mine.states), len(theirs.states)):
            continue
        yield from _point(fault, problem, mine, theirs)


def _point(fault: Fault, problem: Problem, mine: Evaluation, theirs: Evaluation) -> Iterator[Evidence]:
    name, step = fault.tensor, fault.step
    flow = Flow(problem, step)
    gradients = added(mine, step)
    _, followed = faults(flow, gradients)
    want = followed.expected.get(name)
    if want is None:
        return
    tensor = flow.tensors[name]
    before = (state.gradients.get(name) for state in reversed(mine.states[:step]))
    roots = problem.seeds[step]
    others = {n: g for n, g in added(theirs, step).items() if n != name and g is not None}
    yield Evidence(
        gradients.get(name),
        want,
        scale=followed.scale(tensor),
        uses=flow.uses(followed, tensor) if len(flow.owners) <= MOST_OPS else (),
        earlier=next((gradient for gradient in before if gradient is not None), None),
        others=others,
        neighbours={n: g for n, g in gradients.items() if n != name and g is not None},
        is_root=name in roots,
        reseeded={"ones in its place": np.ones_like(want)} if name in roots else {},
    )


def rule_of(
    problem: Problem,
    flow: Flow,
    name: str,
    gradients: Mapping[str, np.ndarray | None],
    applications: list[Application],
    reference: Engine,
) -> Rule | None:
    """The only op that uses the tensor, where there is just one in one entry, with the incoming gradient it got."""
    children = flow.children(name)
    if len(children) != 1:
        return None
    (owner,) = children
    own = [application for application in applications if application.owner == owner]
    incoming = gradients.get(owner)
    value = flow.tensors[name].data
    if len(own) != 1 or incoming is None or len(own[0].outputs) != 1:
        return None
    (application,) = own
    places = positions(application)
    tensors = list(arrays(application.args, application.kwargs))
    mine = [index for index, place in enumerate(places) if _same(tensors[place], value)]
    if len(mine) != 1:
        return None
    ask = asking(reference, problem.dtype)
    (index,) = mine
    wants = tuple(ask(application, [incoming]))
    return Rule(application, places[index], index, (incoming,), wants, ask) if wants else None


def _same(one: np.ndarray, other: np.ndarray) -> bool:
    return one.shape == other.shape and one.dtype == other.dtype and bool(np.array_equal(one, other))
