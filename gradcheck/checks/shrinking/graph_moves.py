"""Ways to make a case smaller by leaving something out: what leads nowhere, entries and steps, parts of expressions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.checks.shrinking.case_edits import (
    fresh_name,
    literal,
    value_of,
    values_of,
    with_entry,
    with_leaf,
    with_step,
)
from gradcheck.checks.shrinking.number_moves import count_up
from gradcheck.language.case import Case, Claim, Step, Value
from gradcheck.language.expr.mentions import free_names, gradient_names
from gradcheck.language.expr.nodes import Call, Expr, Name
from gradcheck.language.expr.traverse import postorder, replace_part, rewrite, walk

#: Entries of a graph, and parts of an expression, that are looked at one by one.
_MOST = 60


def unused(case: Case) -> Iterator[Case]:
    """`without_unused` as a way to make a case smaller."""
    yield without_unused(case)


def without_unused(case: Case) -> Case:
    """The case with the entries, leaves and sizes alone that roots and claims depend on."""
    needed = _claimed(case)
    let = _reachable(case.let, needed)
    graph = _reachable(case.graph, needed)
    inputs = {name: value for name, value in case.inputs.items() if name in needed}
    return replace(
        case,
        let=let,
        graph=graph,
        inputs=inputs or case.inputs,
        constants={name: value for name, value in case.constants.items() if name in needed},
        dims={name: size for name, size in case.dims.items() if name in needed or case.generalize or case.shapes},
        steps=tuple(_remaining(step, inputs or case.inputs, graph) for step in case.steps),
    )


def _claimed(case: Case) -> set[str]:
    """The names that roots and claims speak of."""
    tensors = [root for step in case.steps for root in (*step.roots, *step.values, *step.expected)]
    tensors += [*case.values, *case.expected, *case.formulas, *case.wrong_formulas]
    claims = [c for section in (case.formulas, case.wrong_formulas) for listed in section.values() for c in listed]
    claims += [*case.checks, *(check for step in case.steps for check in step.checks)]
    found = {name.partition("[")[0] for name in tensors}
    for claim in claims:
        found |= _names_in(claim)
    return found


def _names_in(claim: Claim) -> set[str]:
    return {*free_names(claim.expr), *gradient_names(claim.expr)}


def _reachable(claims: Mapping[str, Claim], needed: set[str]) -> dict[str, Claim]:
    """The claims that are needed; what these need is added."""
    for name, claim in reversed(list(claims.items())):
        if name in needed:
            needed |= _names_in(claim)
    return {name: claim for name, claim in claims.items() if name in needed}


def _remaining(step: Step, inputs: Mapping[str, Value], graph: Mapping[str, Claim]) -> Step:
    kept = {name: value for name, value in step.inputs.items() if name in inputs}
    names = tuple(name for name in step.names if name.partition("[")[0] in (*inputs, *graph))
    return replace(step, inputs=kept, names=names or step.names)


# Entries and steps -----------------------------------------------------------------------------------


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


# Parts of expressions --------------------------------------------------------------------------------


def small_parts(case: Case) -> Iterator[Case]:
    """A long expression replaced by a part of it: of the smallest, of twice the size, and so on."""
    for name, claim in list(case.graph.items())[:_MOST]:
        parts = _by_size(claim.expr)
        at = 1
        while at < len(parts) // 2:
            yield without_unused(with_entry(case, name, parts[at]))
            at *= 2


def _by_size(root: Expr) -> list[Expr]:
    """Every call in an expression, those of the fewest calls first."""
    sizes: dict[int, int] = {}
    found: list[Expr] = []
    for node in postorder(root):
        if id(node) not in sizes:
            sizes[id(node)] = sum(sizes[id(child)] for child in node.children) + isinstance(node, Call)
            if isinstance(node, Call):
                found.append(node)
    return sorted(found, key=lambda node: sizes[id(node)])


def simpler_parts(case: Case) -> Iterator[Case]:
    """A part of an expression replaced by one of its own parts, or given as a number."""
    values = values_of(case)
    fresh = fresh_name(case)
    for name, claim in list(case.graph.items())[:_MOST]:
        for index, node in enumerate(walk(claim.expr)):
            if index > _MOST:
                break
            if not isinstance(node, Call):
                continue
            for child in node.children:
                if isinstance(child, (Call, Name)) and isinstance(value_of(child, values), np.ndarray):
                    yield without_unused(with_entry(case, name, replace_part(claim.expr, node, child)))
            value = value_of(node, values) if index else None
            if isinstance(value, np.ndarray):
                changed = with_entry(case, name, replace_part(claim.expr, node, Name(fresh)))
                yield without_unused(with_leaf(changed, fresh, value))
