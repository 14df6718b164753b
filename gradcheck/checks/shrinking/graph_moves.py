"""Ways to make a case smaller by leaving out whole entries of its graph, and steps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.checks.shrinking.case_edits import values_of, with_leaf, with_step
from gradcheck.checks.shrinking.number_moves import count_up
from gradcheck.checks.shrinking.pinning import literal
from gradcheck.checks.shrinking.unused import without_unused
from gradcheck.language.case import Case, Claim, Step
from gradcheck.language.expr.nodes import Expr, Name
from gradcheck.language.expr.traverse import rewrite

#: Entries of a graph that are looked at one by one.
_MOST = 60


def end_earlier(case: Case) -> Iterator[Case]:
    """The backward pass from an entry further up, the first that there is."""
    if len(case.steps) != 1 or len(case.graph) < 2:
        return
    values = values_of(case)
    names = list(case.graph)
    for index, name in enumerate(names[: min(len(names) - 1, _MOST)]):
        value = values.get(name)
        if not isinstance(value, np.ndarray) or not dtypes.is_differentiable(value.dtype):
            continue
        graph = {kept: case.graph[kept] for kept in names[: index + 1]}
        seed = None if value.size == 1 else literal(count_up(value), value.dtype, leaf=True)
        yield without_unused(replace(case, graph=graph, steps=(Step("backward", roots={name: seed}),)))


def start_later(case: Case) -> Iterator[Case]:
    """An entry given as a number, the last that can be."""
    values = values_of(case)
    for name in list(reversed(list(case.graph)))[:_MOST]:
        value = values.get(name)
        if len(case.graph) < 2 or not isinstance(value, np.ndarray):
            continue
        graph = {kept: claim for kept, claim in case.graph.items() if kept != name}
        yield without_unused(with_leaf(replace(case, graph=graph), name, value))


def fewer_names(case: Case) -> Iterator[Case]:
    """An entry that is but another name for a tensor, left out."""
    for name, claim in case.graph.items():
        if not isinstance(claim.expr, Name):
            continue
        other = claim.expr
        graph = {kept: _renamed(entry, name, other) for kept, entry in case.graph.items() if kept != name}
        steps = tuple(
            replace(step, roots={other.name if root == name else root: seed for root, seed in step.roots.items()})
            for step in case.steps
        )
        if all(root in graph for step in steps for root in step.roots):
            yield without_unused(replace(case, graph=graph, steps=steps))


def _renamed(claim: Claim, name: str, other: Name) -> Claim:
    def changed(node: Expr) -> Expr:
        return other if isinstance(node, Name) and node.name == name else node

    expr = rewrite(claim.expr, changed)
    return claim if expr is claim.expr else Claim.of(expr)


def fewer_steps(case: Case) -> Iterator[Case]:
    """One step, or one root, less."""
    for index, step in enumerate(case.steps):
        if len(case.steps) > 1:
            yield without_unused(replace(case, steps=case.steps[:index] + case.steps[index + 1 :]))
        if len(step.roots) > 1:
            for root in step.roots:
                roots = {name: seed for name, seed in step.roots.items() if name != root}
                yield without_unused(with_step(case, index, replace(step, roots=roots)))
