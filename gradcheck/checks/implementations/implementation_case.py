"""The case of one implementation: its entry, and the entry's ancestors."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np

from gradcheck.engines.implementation.binding import Binding, ancestors_of
from gradcheck.language.case import Case, Claim, Implementation, StatedTolerance, Step, Value
from gradcheck.language.expr.parser import parse
from gradcheck.language.expr.traverse import inline_steps, ops_in
from gradcheck.language.implied_cotangents import cotangents_of
from gradcheck.language.problem import Problem
from gradcheck.language.trial_draws import is_general, with_trials, without_trials

#: torch takes these as linear beyond a threshold, 20, where the exact function differs by 2e-9. Code that is closer
#: to the exact function is right.
_APPROXIMATE = frozenset(("softplus", "mish"))
_APPROXIMATE_TOLERANCE = StatedTolerance(rtol=1e-8)


def implementation_case(
    case: Case, implementation: Implementation, binding: Binding, values: Mapping[str, np.ndarray]
) -> Case | None:
    """Return the entry alone, from the code's arguments, in random pullback.

    Entries in between are inlined. `values` are those of the whole case. None if nothing of the entry has a gradient.
    """
    entry = implementation.entry
    roots = cotangents_of(entry, values, implementation.place)
    if not roots:
        return None
    kept = _kept_entries(case, entry, binding.names)
    graph = {name: claim for name, claim in case.graph.items() if name in kept}
    graph[entry] = _inlined(case, entry, kept)
    approximate = not _APPROXIMATE.isdisjoint(ops_in(graph[entry].expr))
    alone = replace(
        case.without_claims(),
        graph=graph,
        steps=(Step("backward", roots=roots, place=implementation.place),),
        tolerance={},
        engine_tolerance=implementation.tolerance
        or case.engine_tolerance
        or (_APPROXIMATE_TOLERANCE if approximate else None),
        implementations=(implementation,),
        only=(),
        xfail=None,
    )
    return with_trials(alone, thorough=True) if is_general(alone) else alone


#: The name of an incoming gradient that is an input.
_INCOMING = "incoming_gradient"


def second_order_case(case: Case, problem: Problem) -> Case:
    """Return the case with its incoming gradients as further inputs.

    A backward that does not depend on them correctly has a wrong second order there. Complex roots are left out."""
    (seeds,) = problem.seeds
    if any(seed is None or seed.dtype.kind == "c" for seed in seeds.values()):
        return case
    names = {root: f"{_INCOMING}{number or ''}" for number, root in enumerate(seeds)}
    total = " + ".join(f"({root} * {name}).sum()" for root, name in names.items())
    incoming = {name: Value(array=seeds[root]) for root, name in names.items()}
    step = replace(case.steps[0], roots={"total_": None})
    graph = {**case.graph, "total_": Claim(total, parse(total))}
    return without_trials(replace(case, inputs={**case.inputs, **incoming}, graph=graph, steps=(step,)))


def _kept_entries(case: Case, entry: str, given: Collection[str]) -> set[str]:
    found = {name for name in given if name in case.graph}
    for name in list(found):
        found |= ancestors_of(case, name) & case.graph.keys()
    return found | {entry}


def _inlined(case: Case, entry: str, kept: Collection[str]) -> Claim:
    claim = case.graph[entry]
    above = ancestors_of(case, entry)
    between = {name: one.expr for name, one in case.graph.items() if name in above and name not in kept}
    return replace(Claim.of(inline_steps(claim.expr, between)), place=claim.place) if between else claim


def relevant_names(case: Case) -> set[str]:
    """Return the entry and its ancestors."""
    (implementation,) = case.implementations
    return {implementation.entry, *ancestors_of(case, implementation.entry)}
