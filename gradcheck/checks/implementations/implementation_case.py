"""The case of one implementation: the entry that it stands for, and what that is made of."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.engines.implementation.binding import Binding, ancestors_of
from gradcheck.errors import GradcheckError, Place
from gradcheck.language.case import Case, Claim, Implementation, StatedTolerance, Step, Value
from gradcheck.language.expr.nodes import Expr
from gradcheck.language.expr.parser import parse
from gradcheck.language.expr.traverse import ops_in, substitute
from gradcheck.language.problem import Problem
from gradcheck.language.sampling import draw, graph_values

#: torch takes these for linear from a threshold on, 20, where the exact function is another 2e-9 away: code that is
#: nearer to the mathematics than torch is right.
_APPROXIMATE = frozenset(("softplus", "mish"))
_APPROXIMATE_TOLERANCE = StatedTolerance(rtol=1e-8)


def implementation_case(
    case: Case, implementation: Implementation, binding: Binding, values: Mapping[str, np.ndarray]
) -> Case | None:
    """The entry alone, from what the code is called with, under a random incoming gradient; entries in between are
    written into it. `values` are those of the whole case. None where nothing of the entry has a gradient."""
    entry = implementation.entry
    roots = _roots(entry, values, implementation.place)
    if not roots:
        return None
    kept = _kept_entries(case, entry, binding.names)
    graph = {name: claim for name, claim in case.graph.items() if name in kept}
    graph[entry] = _inlined(case, entry, kept)
    approximate = not _APPROXIMATE.isdisjoint(ops_in(graph[entry].expr))
    return replace(
        case,
        graph=graph,
        steps=(Step("backward", roots=roots, place=implementation.place),),
        values={},
        expected={},
        formulas={},
        wrong_formulas={},
        let={},
        checks=(),
        tolerance={},
        engine_tolerance=implementation.tolerance
        or case.engine_tolerance
        or (_APPROXIMATE_TOLERANCE if approximate else None),
        generalize=None if case.generalize is None else replace(case.generalize, thorough=True),
        implementations=(implementation,),
        only=(),
        xfail=None,
    )


#: What the incoming gradient is called where it is an input itself.
_INCOMING = "incoming_gradient"


def second_order_case(case: Case, problem: Problem) -> Case:
    """The same at the problem's numbers where what comes in is an input too: code whose backward does not depend on it
    as it should has a wrong second order there. Roots that are complex are left out of it."""
    (seeds,) = problem.seeds
    if any(seed is None or seed.dtype.kind == "c" for seed in seeds.values()):
        return case
    names = {root: f"{_INCOMING}{number or ''}" for number, root in enumerate(seeds)}
    total = " + ".join(f"({root} * {name}).sum()" for root, name in names.items())
    incoming = {name: Value(array=seeds[root]) for root, name in names.items()}
    step = replace(case.steps[0], roots={"total_": None})
    graph = {**case.graph, "total_": Claim(total, parse(total))}
    return replace(case, inputs={**case.inputs, **incoming}, graph=graph, steps=(step,), generalize=None)


def case_as_run(case: Case, seed: int | None) -> Case:
    """The case as it is run: `with_incoming_gradients` gradients where it names code."""
    return with_incoming_gradients(case, seed) if case.implementations else case


def with_incoming_gradients(case: Case, seed: int | None) -> Case:
    """The case with random incoming gradients where it says nothing of a backward pass, and its last entry is not one
    number: that is nothing to ask of somebody who names their code."""
    last = list(case.graph)[-1]
    (*others, step) = case.steps
    if others or dict(step.roots) != {last: None} or step.raises:
        return case
    try:
        value = graph_values(case, draw(case, seed).environment())[last]
    except GradcheckError:  # which is told where it is evaluated
        return case
    parts = value if isinstance(value, tuple) else (value,)
    arrays = {f"{last}[{i}]" if isinstance(value, tuple) else last: np.asarray(part) for i, part in enumerate(parts)}
    if len(arrays) == 1 and arrays.get(last, np.zeros(0)).size == 1:
        return case
    roots = _roots(last, arrays, step.place)
    return replace(case, steps=(replace(step, roots=roots),)) if roots else case


def _roots(entry: str, values: Mapping[str, np.ndarray], place: Place) -> dict[str, Value | None]:
    """Each tensor of the entry that may have a gradient, with a random incoming one."""
    return {
        name: Value(expr=parse(f"randn_like({name})"), place=place)
        for name, array in values.items()
        if name.partition("[")[0] == entry and dtypes.is_differentiable(array.dtype)
    }


def _kept_entries(case: Case, entry: str, given: Collection[str]) -> set[str]:
    """The entries that stay: those that the code is given, and what they are made of."""
    found = {name for name in given if name in case.graph}
    for name in list(found):
        found |= ancestors_of(case, name) & case.graph.keys()
    return found | {entry}


def _inlined(case: Case, entry: str, kept: Collection[str]) -> Claim:
    """The entry with those written into it that do not stay."""
    claim = case.graph[entry]
    between = {name for name in ancestors_of(case, entry) if name in case.graph and name not in kept}
    if not between:
        return claim
    written: dict[str, Expr] = {}

    for name in case.graph:  # in order: each is made of those above it
        if name in between:
            written[name] = substitute(case.graph[name].expr, written)
    return replace(Claim.of(substitute(claim.expr, written)), place=claim.place)


def relevant_names(case: Case) -> set[str]:
    """The names that comparisons of this case are about: the entry, and what it is made of."""
    (implementation,) = case.implementations
    return {implementation.entry, *ancestors_of(case, implementation.entry)}
