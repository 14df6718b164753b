"""Evidence about a person's formula: what it comes to, and what the gradient would be without each path."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

import numpy as np

from gradcheck.checks.claims.stated import aligned
from gradcheck.checks.failures.alone import MORE_POINTS
from gradcheck.checks.failures.diagnosis import Evidence
from gradcheck.checks.failures.gradient_flow import Flow, Followed
from gradcheck.checks.failures.sweeping import rule_of
from gradcheck.checks.ground import Ground
from gradcheck.checks.points import Elsewhere
from gradcheck.engines.base import Engine
from gradcheck.errors import GradcheckError
from gradcheck.language.case import Claim
from gradcheck.language.problem import Problem

#: How many ops a graph may have, and how many paths are cut, one by one.
_MOST_OPS, _MOST_PATHS = 500, 24


def evidence_of(name: str, claim: Claim, step: int, reference: Engine, points: Elsewhere) -> Iterator[Evidence]:
    """What is known of one formula for one tensor's gradient, one point after another."""
    for number in range(MORE_POINTS + 1):
        problem = points.problem(number)
        evaluation = points.evaluation(reference, number)
        if step >= len(evaluation.states):
            continue
        ground = Ground(problem, evaluation.states[step])
        want = ground.gradients.get(name)
        if want is None:
            continue
        try:
            got, want = aligned(ground.array_of(claim.expr), want)
        except GradcheckError:  # at this point it cannot be computed
            continue
        others = {n: g for n, g in ground.gradients.items() if n != name}
        yield _with_graph(Evidence(got, want, others=others), name, problem, step, reference, points, number)


def _with_graph(
    plain: Evidence, name: str, problem: Problem, step: int, reference: Engine, points: Elsewhere, number: int
) -> Evidence:
    """The same with what the graph tells, for a case of a single pass."""
    if len(problem.case.steps) != 1:
        return plain
    flow = Flow(problem, step)
    if name not in flow.tensors or len(flow.owners) > _MOST_OPS:
        return plain
    followed = flow.follow()
    gradients = {n: plain.want if n == name else plain.others.get(n) for n in flow.tensors}
    return replace(
        plain,
        scale=followed.scale(flow.tensors[name]),
        cut=dict(islice(_cut(flow, followed, name), _MOST_PATHS)),
        reseeded=dict(islice(_reseeded(flow, followed, name), _MOST_PATHS)),
        rule=rule_of(problem, flow, name, gradients, points.applications(number), reference),
    )


def _cut(flow: Flow, followed: Followed, name: str) -> Iterator[tuple[str, np.ndarray]]:
    """The gradient without one use of the tensor, then without one of a tensor above it: by words for the path."""
    tensor = flow.tensors[name]
    uses = flow.uses(followed, tensor)
    whole = followed.expected.get(name)
    if whole is None:
        return
    owners = [use.owner for use in uses]
    for index, use in enumerate(uses):
        alone = owners.count(use.owner) == 1
        words = f"`{use.owner}`" if alone else f"{use.op} at `{use.owner}` (use {index + 1} of {len(uses)})"
        if len(uses) > 1:
            yield words, whole - use.share
    if len(set(owners)) < len(owners):
        yield from ((f"`{o}`", flow.follow(cut=(name, o)).expected[name]) for o in dict.fromkeys(owners))
    for above in flow.tensors:
        if above != name and name in flow.below(above):
            children = flow.children(above)
            for entry in sorted(children) if len(children) > 1 else ():
                without = flow.follow(cut=(above, entry)).expected.get(name)
                if without is not None:
                    yield f"`{entry}` (by way of `{above}`)", without


def _reseeded(flow: Flow, followed: Followed, name: str) -> Iterator[tuple[str, np.ndarray]]:
    """The gradient if those of tensors above it were ones."""
    for above, gradient in followed.expected.items():
        if above != name and name in flow.below(above) and not np.all(gradient == 1):
            found = flow.follow({above: np.ones_like(gradient)}).expected.get(name)
            if found is not None:
                yield f"ones in place of the gradient of {above}", found
