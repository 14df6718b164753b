"""Evidence about a person's formula: what it comes to, and what the gradient would be without each path."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

import numpy as np

from gradcheck.checks.claims.stated import aligned
from gradcheck.checks.failures.diagnosis.evidence import Evidence
from gradcheck.checks.failures.evidence import MORE_POINTS
from gradcheck.checks.failures.evidence.accumulation import only_use
from gradcheck.checks.failures.gradient_flow import Followed, GradientFlow
from gradcheck.checks.points import Point, Points
from gradcheck.errors import GradcheckError
from gradcheck.facts import Fact, fact
from gradcheck.language.case import Claim

#: How many ops a graph may have, and how many paths are cut, one by one.
_MOST_OPS, _MOST_PATHS = 500, 24


def evidence_of_formula(name: str, claim: Claim, points: Points, point: Point) -> Iterator[Evidence]:
    """What is known of one formula for one tensor's gradient, at this point and at others nearby."""
    step = point.last
    for number in range(MORE_POINTS + 1):
        near = points.nearby(point, number)
        if step >= len(near.want.states):
            continue
        scope = near.scope(step)
        want = scope.gradients.get(name)
        if want is None:
            continue
        try:
            got, want = aligned(scope.array_of(claim.expr), want)
        except GradcheckError:  # at this point it cannot be computed
            continue
        others = {n: g for n, g in scope.gradients.items() if n != name}
        yield _with_graph(Evidence(got, want, others=others), name, near)


def _with_graph(plain: Evidence, name: str, point: Point) -> Evidence:
    """The same with what the graph tells, for a case of a single pass."""
    if len(point.problem.case.steps) != 1:
        return plain
    flow = GradientFlow(point.problem, point.last)
    if name not in flow.tensors or len(flow.owners) > _MOST_OPS:
        return plain
    followed = flow.follow()
    gradients = {n: plain.want if n == name else plain.others.get(n) for n in flow.tensors}
    return replace(
        plain,
        scale=followed.scale(flow.tensors[name]),
        cut=dict(islice(_cut(flow, followed, name), _MOST_PATHS)),
        reseeded=dict(islice(_reseeded(flow, followed, name), _MOST_PATHS)),
        rule=only_use(point, flow, name, gradients),
    )


def _cut(flow: GradientFlow, followed: Followed, name: str) -> Iterator[tuple[Fact, np.ndarray]]:
    """The gradient without one use of the tensor, then without one of a tensor above it: by the path that is cut."""
    uses = flow.uses(followed, flow.tensors[name])
    whole = followed.expected.get(name)
    if whole is None:
        return
    owners = [use.owner for use in uses]
    for number, use in enumerate(uses, 1):
        path = fact("path", entry=use.owner)
        if owners.count(use.owner) > 1:
            path = fact("path_use", op=use.op, entry=use.owner, number=number, count=len(uses))
        if len(uses) > 1:
            yield path, whole - use.share
    if len(set(owners)) < len(owners):
        for owner in dict.fromkeys(owners):
            yield fact("path", entry=owner), flow.follow(cut=(name, owner)).expected[name]
    for above in flow.tensors:
        if above != name and name in flow.below(above) and len(flow.children(above)) > 1:
            for entry in sorted(flow.children(above)):
                without = flow.follow(cut=(above, entry)).expected.get(name)
                if without is not None:
                    yield fact("path_by_way_of", entry=entry, above=above), without


def _reseeded(flow: GradientFlow, followed: Followed, name: str) -> Iterator[tuple[Fact, np.ndarray]]:
    """The gradient if those of tensors above it were ones."""
    for above, gradient in followed.expected.items():
        if above != name and name in flow.below(above) and not np.all(gradient == 1):
            found = flow.follow({above: np.ones_like(gradient)}).expected.get(name)
            if found is not None:
                yield fact("ones_for", tensor=above), found
