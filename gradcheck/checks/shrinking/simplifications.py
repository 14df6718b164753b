"""Simplifications of a case: graph, steps, expressions, sizes and numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.dtypes import wide
from gradcheck.checks.shrinking.case_edits import (
    fresh_name,
    given_tensors,
    literal,
    value_of,
    values_of,
    with_arrays,
    with_entry,
    with_leaf,
    with_step,
    with_tensor_value,
)
from gradcheck.language.case import DERIVATIVE_SECTIONS, Case, Claim, Step, Value
from gradcheck.language.expr.nodes import Call, Expr, Name
from gradcheck.language.expr.traverse import (
    derivatives_in,
    free_names,
    gradient_names,
    postorder,
    replace_part,
    substitute,
)
from gradcheck.language.trial_draws import is_general

#: How many entries of a graph, and parts of an expression, are tried.
_MOST = 60


def drop_unused(case: Case) -> Iterator[Case]:
    """Yield `without_unused`."""
    yield without_unused(case)


def without_unused(case: Case) -> Case:
    """Return the case with only what roots and claims depend on."""
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
        dims={name: size for name, size in case.dims.items() if name in needed or is_general(case) or case.shapes},
        steps=tuple(_remaining(step, inputs or case.inputs, graph) for step in case.steps),
    )


def _claimed(case: Case) -> set[str]:
    tensors = [root for step in case.steps for root in (*step.roots, *step.values, *step.expected)]
    tensors += [*case.values, *case.expected, *case.formulas, *case.wrong_formulas]
    derivatives = [pair for section in DERIVATIVE_SECTIONS for pair in getattr(case, section).items()]
    tensors += [name for of, by in derivatives for name in (of, *(one for key in by for one in key.split(", ")))]
    sections = (case.formulas, case.wrong_formulas, *(by for _, by in derivatives))
    claims = [c for section in sections for listed in section.values() for c in listed]
    claims += [*case.checks, *(check for step in case.steps for check in step.checks)]
    found = {name.partition("[")[0] for name in tensors}
    for claim in claims:
        found |= _names_in(claim)
    return found


def _names_in(claim: Claim) -> set[str]:
    terms = (tensor for term in derivatives_in(claim.expr) for tensor in term.tensors)
    return {*free_names(claim.expr), *gradient_names(claim.expr), *(tensor.partition("[")[0] for tensor in terms)}


def _reachable(claims: Mapping[str, Claim], needed: set[str]) -> dict[str, Claim]:
    """Return the needed claims; add what they need to `needed`."""
    for name, claim in reversed(list(claims.items())):
        if name in needed:
            needed |= _names_in(claim)
    return {name: claim for name, claim in claims.items() if name in needed}


def _remaining(step: Step, inputs: Mapping[str, Value], graph: Mapping[str, Claim]) -> Step:
    kept = {name: value for name, value in step.inputs.items() if name in inputs}
    names = tuple(name for name in step.names if name.partition("[")[0] in (*inputs, *graph))
    return replace(step, inputs=kept, names=names or step.names)


def earlier_roots(case: Case) -> Iterator[Case]:
    """Yield backward passes from an earlier entry, the first ones first."""
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


def entries_as_numbers(case: Case) -> Iterator[Case]:
    """Yield the case with an entry as a literal, the last ones first."""
    values = values_of(case)
    for name in list(reversed(list(case.graph)))[:_MOST]:
        value = values.get(name)
        if len(case.graph) < 2 or not isinstance(value, np.ndarray):
            continue
        graph = {kept: claim for kept, claim in case.graph.items() if kept != name}
        yield without_unused(with_leaf(replace(case, graph=graph), name, value))


def drop_aliases(case: Case) -> Iterator[Case]:
    """Yield the case without an entry that only renames a tensor."""
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
    expr = substitute(claim.expr, {name: other})
    return claim if expr is claim.expr else Claim.of(expr)


def fewer_steps(case: Case) -> Iterator[Case]:
    """Yield the case without one step, or one root."""
    for index, step in enumerate(case.steps):
        if len(case.steps) > 1:
            yield without_unused(replace(case, steps=case.steps[:index] + case.steps[index + 1 :]))
        if len(step.roots) > 1:
            for root in step.roots:
                roots = {name: seed for name, seed in step.roots.items() if name != root}
                yield without_unused(with_step(case, index, replace(step, roots=roots)))


def small_parts(case: Case) -> Iterator[Case]:
    """Yield long expressions replaced by a part, small ones first."""
    for name, claim in list(case.graph.items())[:_MOST]:
        parts = _calls_by_size(claim.expr)
        at = 1
        while at < len(parts) // 2:
            yield without_unused(with_entry(case, name, parts[at]))
            at *= 2


def _calls_by_size(root: Expr) -> list[Expr]:
    sizes: dict[int, int] = {}
    found: list[Expr] = []
    for node in postorder(root):
        if id(node) not in sizes:
            sizes[id(node)] = sum(sizes[id(child)] for child in node.children) + isinstance(node, Call)
            if isinstance(node, Call):
                found.append(node)
    return sorted(found, key=lambda node: sizes[id(node)])


def simpler_parts(case: Case) -> Iterator[Case]:
    """Yield parts replaced by their own parts, or by literals."""
    values = values_of(case)
    fresh = fresh_name(case)
    for name, claim in list(case.graph.items())[:_MOST]:
        for index, node in enumerate(claim.expr.walk()):
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


def smaller_sizes(case: Case) -> Iterator[Case]:
    """Yield the case with every axis of one size cut."""
    arrays = [one.value.array for one in given_tensors(case) if one.value.array is not None]
    sizes = sorted({size for array in arrays for size in np.shape(array) if size > 1}, reverse=True)
    for size in sizes:
        for smaller in dict.fromkeys((1, 2, 3, size // 2, size - 1)):
            if 0 < smaller < size:
                yield _cut(case, size, smaller)


def _cut(case: Case, size: int, smaller: int) -> Case:
    def cut(array: np.ndarray) -> np.ndarray:
        return array[tuple(slice(smaller) if length == size else slice(None) for length in array.shape)]

    return with_arrays(case, cut, {size: smaller})


def simpler_numbers(case: Case) -> Iterator[Case]:
    """Yield one tensor with small integers, or rounded numbers."""
    for one in given_tensors(case):
        array = one.value.array
        if array is None or not dtypes.is_differentiable(array.dtype):
            continue
        rounded = (_rounded(array, digits) for digits in (0, 1, 2))
        for simpler in (count_up(array), np.ones_like(array), *rounded):
            if _text_length(simpler) < _text_length(array):  # integers are all equally simple
                yield with_tensor_value(case, one, replace(one.value, array=simpler))


def integers(case: Case) -> Iterator[Case]:
    """Yield integral inputs and cotangents without a decimal point."""
    for one in given_tensors(case):
        array = one.value.array
        if one.section == "constants" or one.value.dtype or array is None or array.dtype.kind not in "fV":
            continue
        double = wide(array)
        if array.size and np.all(np.abs(double) < 2**53) and np.all(double == np.round(double)):
            yield with_tensor_value(case, one, replace(one.value, array=double.astype(np.int64)))


def plain_dtype(case: Case) -> Iterator[Case]:
    """Yield the case in float64."""
    if case.dtype != "float64" and not case.dtype.startswith("complex"):
        double = replace(case, dtype="float64")
        yield with_arrays(double, lambda a: a.astype(np.float64) if dtypes.is_differentiable(a.dtype) else a, {})


def count_up(array: np.ndarray) -> np.ndarray:
    """Return 1, 2, 3, … 9, 1, … in the array's shape and dtype."""
    return (np.arange(array.size) % 9 + 1).reshape(array.shape).astype(array.dtype)


def _rounded(array: np.ndarray, digits: int) -> np.ndarray:
    """Return rounded numbers; only 0, where kinks are, becomes 0."""
    double = wide(array)
    rounded = np.asarray(np.round(double, digits))
    return np.where((rounded == 0) & (double != 0), np.sign(double) * 10.0**-digits, rounded + 0.0).astype(array.dtype)


def _text_length(array: np.ndarray) -> int:
    """Return roughly how many characters the numbers take."""
    double = wide(array) if array.dtype.kind == "V" else array
    if dtypes.is_differentiable(array.dtype) and array.dtype.kind != "c" and np.all(double == np.round(double)):
        return array.size * (1 if np.all((double >= 0) & (double < 10)) else 4)
    return sum(4 + len(repr(number)) for number in double.ravel().tolist())


#: Yields smaller cases by one step, those that gain most first.
Simplification = Callable[[Case], Iterator[Case]]
#: Those that gain most first.
SIMPLIFICATIONS: tuple[Simplification, ...] = (
    drop_unused,
    fewer_steps,
    earlier_roots,
    entries_as_numbers,
    small_parts,
    simpler_parts,
    drop_aliases,
    smaller_sizes,
    plain_dtype,
    simpler_numbers,
)
#: Those that keep the meaning of a general claim.
#: So do those of user code, which computes its specification as it is.
GENERAL_CLAIM_SIMPLIFICATIONS: tuple[Simplification, ...] = (drop_unused, smaller_sizes, simpler_numbers)
#: Stated numbers belong to their inputs; an unrefuted formula fails at any numbers.
KNOWN_NUMBER_SIMPLIFICATIONS: tuple[Simplification, ...] = (drop_unused,)
