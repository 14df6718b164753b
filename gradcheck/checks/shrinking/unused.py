"""The case without whatever leads nowhere: the first way to make it smaller, and the last part of most others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from gradcheck.language.case import Case, Claim, Step, Value
from gradcheck.language.expr.traverse import free_names, gradient_names


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
