"""Ways to make a case smaller, one small step each: fewer operations, fewer tensors, smaller sizes, simpler numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.modes import using_default_dtype
from gradcheck.checks.shrinking.pin import literal
from gradcheck.errors import GradcheckError
from gradcheck.language.case import Case, Claim, Step, Value
from gradcheck.language.evaluate import evaluate, free_names, gradient_names
from gradcheck.language.expr import Call, Expr, Name, walk
from gradcheck.language.share import with_children

Move = Callable[[Case], Iterator[Case]]

#: Entries of a graph, and parts of an expression, that are looked at one by one.
_MOST = 60


# Fewer operations ------------------------------------------------------------------------------------


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
        seed = None if value.size == 1 else literal(pattern(value), value.dtype, leaf=True)
        yield without_unused(replace(case, graph=graph, steps=(Step("backward", roots={name: seed}),)))


def start_later(case: Case) -> Iterator[Case]:
    """An entry given as a number, the last that can be."""
    values = values_of(case)
    for name in list(reversed(list(case.graph)))[:_MOST]:
        value = values.get(name)
        if len(case.graph) < 2 or not isinstance(value, np.ndarray):
            continue
        graph = {kept: claim for kept, claim in case.graph.items() if kept != name}
        yield without_unused(_with_leaf(replace(case, graph=graph), name, value))


def small_parts(case: Case) -> Iterator[Case]:
    """A long expression replaced by a part of it: of the smallest, of twice the size, and so on."""
    for name, claim in list(case.graph.items())[:_MOST]:
        sized = sorted(_sizes(claim.expr), key=lambda pair: pair[0])
        at = 1
        while at < len(sized) // 2:
            yield without_unused(_with_entry(case, name, sized[at][1]))
            at *= 2


def _sizes(root: Expr) -> list[tuple[int, Expr]]:
    """Every call in an expression with its number of calls; iterative, children before parents."""
    known: dict[int, int] = {}
    found: list[tuple[int, Expr]] = []
    for node in reversed(list(walk(root))):
        if id(node) not in known:
            known[id(node)] = sum(known[id(child)] for child in node.children) + isinstance(node, Call)
            if isinstance(node, Call):
                found.append((known[id(node)], node))
    return found


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
    nodes = [node for node in walk(claim.expr) if isinstance(node, Name) and node.name == name]
    expr = claim.expr
    for node in nodes:
        expr = _replaced(expr, node, other)
    return Claim(str(expr), expr) if nodes else claim


def simpler_parts(case: Case) -> Iterator[Case]:
    """A part of an expression replaced by one of its own parts, or given as a number."""
    values = values_of(case)
    fresh = _fresh(case)
    for name, claim in list(case.graph.items())[:_MOST]:
        for index, node in enumerate(walk(claim.expr)):
            if index > _MOST:
                break
            if not isinstance(node, Call):
                continue
            for child in node.children:
                if not isinstance(child, (Call, Name)) or not isinstance(_value(child, values), np.ndarray):
                    continue
                yield without_unused(_with_entry(case, name, _replaced(claim.expr, node, child)))
            value = _value(node, values) if index else None
            if isinstance(value, np.ndarray):
                changed = _with_entry(case, name, _replaced(claim.expr, node, Name(fresh)))
                yield without_unused(_with_leaf(changed, fresh, value))


def fewer_steps(case: Case) -> Iterator[Case]:
    """One step, or one root, less."""
    for index in range(len(case.steps)):
        if len(case.steps) > 1:
            yield without_unused(replace(case, steps=case.steps[:index] + case.steps[index + 1 :]))
        step = case.steps[index]
        for root in step.roots if len(step.roots) > 1 else ():
            roots = {name: seed for name, seed in step.roots.items() if name != root}
            yield without_unused(_with_step(case, index, replace(step, roots=roots)))


def unused(case: Case) -> Iterator[Case]:
    """Without whatever leads nowhere."""
    yield without_unused(case)


def without_unused(case: Case) -> Case:
    """The case with the entries, leaves and sizes alone that roots and claims depend on."""
    needed = {root.partition("[")[0] for step in case.steps for root in step.roots}
    needed |= {name.partition("[")[0] for step in case.steps for name in (*step.values, *step.expected)}
    needed |= {name.partition("[")[0] for name in (*case.values, *case.expected, *case.formulas, *case.wrong_formulas)}
    claims = [c for s in (case.formulas, case.wrong_formulas) for listed in s.values() for c in listed]
    claims += [*case.checks, *(check for step in case.steps for check in step.checks)]
    for claim in claims:
        needed |= {*free_names(claim.expr), *gradient_names(claim.expr)}
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


def _reachable(claims: Mapping[str, Claim], needed: set[str]) -> dict[str, Claim]:
    """The claims that are needed; what these need is added."""
    for name, claim in reversed(list(claims.items())):
        if name in needed:
            needed |= {*free_names(claim.expr), *gradient_names(claim.expr)}
    return {name: claim for name, claim in claims.items() if name in needed}


def _remaining(step: Step, inputs: Mapping[str, Value], graph: Mapping[str, Claim]) -> Step:
    kept = {name: value for name, value in step.inputs.items() if name in inputs}
    names = tuple(name for name in step.names if name.partition("[")[0] in (*inputs, *graph))
    return replace(step, inputs=kept, names=names or step.names)


# Smaller sizes, simpler numbers -----------------------------------------------------------------------


def smaller_sizes(case: Case) -> Iterator[Case]:
    """Every axis of one size cut to a smaller one."""
    arrays = [value.array for value in _literals(case) if value.array is not None]
    sizes = sorted({size for array in arrays for size in np.shape(array) if size > 1}, reverse=True)
    for size in sizes:
        for smaller in dict.fromkeys((1, 2, 3, size // 2, size - 1)):
            if 0 < smaller < size:
                yield _mapped(case, lambda array, s=size, m=smaller: _cut(array, s, m), {size: smaller})  # type: ignore[misc]


def _cut(array: np.ndarray, size: int, smaller: int) -> np.ndarray:
    return array[tuple(slice(smaller) if length == size else slice(None) for length in array.shape)]


def simpler_numbers(case: Case) -> Iterator[Case]:
    """One tensor's numbers replaced by small integers, or rounded."""
    for kind, name, value in _named_literals(case):
        array = value.array
        if array is None or not dtypes.is_differentiable(array.dtype):
            continue
        for simpler in (
            pattern(array),
            np.ones_like(array),
            _rounded(array, 0),
            _rounded(array, 1),
            _rounded(array, 2),
        ):
            if _plainer(simpler, array):
                yield _with_literal(case, kind, name, replace(value, array=simpler))


def integers(case: Case) -> Iterator[Case]:
    """Whole numbers of inputs and incoming gradients without the decimal point, which changes nothing else."""
    for kind, name, value in _named_literals(case):
        array = value.array
        if kind == "constants" or value.dtype or array is None or array.dtype.kind not in "fV":
            continue
        wide = array.astype(np.float64)
        if array.size and np.all(np.abs(wide) < 2**53) and np.all(wide == np.round(wide)):
            yield _with_literal(case, kind, name, replace(value, array=wide.astype(np.int64)))


def plain_dtype(case: Case) -> Iterator[Case]:
    """In float64."""
    if case.dtype != "float64" and not case.dtype.startswith("complex"):
        yield _mapped(replace(case, dtype="float64"), _in_double, {})


def _in_double(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float64) if dtypes.is_differentiable(array.dtype) else array


def pattern(array: np.ndarray) -> np.ndarray:
    """1, 2, 3, … 9, 1, … in the array's shape and dtype."""
    return (np.arange(array.size) % 9 + 1).reshape(array.shape).astype(array.dtype)


def _rounded(array: np.ndarray, digits: int) -> np.ndarray:
    wide = array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)
    return np.asarray(np.round(wide, digits)).astype(array.dtype)


def _plainer(simpler: np.ndarray, array: np.ndarray) -> bool:
    """Whether it takes less to write; of integers, none is plainer than others."""
    return _spelled(simpler) < _spelled(array)


def _spelled(array: np.ndarray) -> int:
    wide = array.astype(np.float64) if array.dtype.kind == "V" else array
    if dtypes.is_differentiable(array.dtype) and array.dtype.kind != "c" and np.all(wide == np.round(wide)):
        return array.size * (1 if np.all((wide >= 0) & (wide < 10)) else 4)
    return sum(4 + len(repr(number)) for number in wide.ravel().tolist())


#: The most that can be won first.
MOVES: tuple[Move, ...] = (
    unused,
    fewer_steps,
    end_earlier,
    start_later,
    small_parts,
    simpler_parts,
    fewer_names,
    smaller_sizes,
    plain_dtype,
    simpler_numbers,
)
#: Those that leave what a claim is about as it is. Known numbers belong to the inputs that they were computed for.
OF_CLAIMS: tuple[Move, ...] = (unused, smaller_sizes, simpler_numbers)
OF_KNOWN_NUMBERS: tuple[Move, ...] = (unused,)


# Cases and their parts ----------------------------------------------------------------------------------


def values_of(case: Case) -> dict[str, Any]:
    """The forward values of a pinned case, as far as they can be computed."""
    values: dict[str, Any] = dict(case.dims)
    for name, value in (*case.inputs.items(), *case.constants.items()):
        values[name] = np.asarray(value.array)
    with using_default_dtype(dtypes.real_of(dtypes.BY_NAME[case.dtype])):
        for name, claim in case.graph.items():
            try:
                values[name] = evaluate(claim.expr, {**values})
            except GradcheckError:
                break
    return values


def _value(expr: Expr, values: Mapping[str, Any]) -> Any:
    try:
        return evaluate(expr, values)
    except GradcheckError:
        return None


def _with_entry(case: Case, name: str, expr: Expr) -> Case:
    return replace(case, graph={**case.graph, name: Claim(str(expr), expr)})


def _with_leaf(case: Case, name: str, array: np.ndarray) -> Case:
    """A tensor given by its numbers: an input if it can have a gradient."""
    dtype = dtypes.BY_NAME[case.dtype]
    leaf = dtypes.is_differentiable(array.dtype)
    section = "inputs" if leaf else "constants"
    return replace(case, **{section: {**getattr(case, section), name: literal(array, dtype, leaf=leaf)}})  # type: ignore[arg-type]


def _with_step(case: Case, index: int, step: Step) -> Case:
    return replace(case, steps=(*case.steps[:index], step, *case.steps[index + 1 :]))


def _replaced(root: Expr, old: Expr, new: Expr) -> Expr:
    """The expression with one part, by identity, replaced; iterative."""
    done: dict[int, Expr] = {id(old): new}
    stack = [root]
    while stack:
        node = stack[-1]
        missing = [child for child in node.children if id(child) not in done]
        if id(node) in done:
            stack.pop()
        elif missing:
            stack += missing
        else:
            stack.pop()
            done[id(node)] = (
                with_children(node, [done[id(child)] for child in node.children]) if node.children else node
            )
    return done[id(root)]


def _fresh(case: Case) -> str:
    taken = {*case.inputs, *case.constants, *case.graph, *case.let, *case.dims}
    return next(name for name in (f"t{number}" for number in range(len(taken) + 1)) if name not in taken)


def _named_literals(case: Case) -> Iterator[tuple[str, str, Value]]:
    """Every number that can be made simpler: where it stands (a section, or a step's number), its name, its value."""
    for section in ("inputs", "constants"):
        for name, value in getattr(case, section).items():
            yield section, name, value
    for index, step in enumerate(case.steps):
        for name, seed in step.roots.items():
            if seed is not None:
                yield str(index), name, seed


def _literals(case: Case) -> Iterator[Value]:
    return (value for _, _, value in _named_literals(case))


def _with_literal(case: Case, kind: str, name: str, value: Value) -> Case:
    if kind.isdigit():
        step = case.steps[int(kind)]
        return _with_step(case, int(kind), replace(step, roots={**step.roots, name: value}))
    return replace(case, **{kind: {**getattr(case, kind), name: value}})  # type: ignore[arg-type]


def _mapped(case: Case, change: Callable[[np.ndarray], np.ndarray], sizes: Mapping[int, int]) -> Case:
    """Every literal changed, those of later forwards too; and the sizes that have names."""
    dtype = dtypes.BY_NAME[case.dtype]

    def changed(value: Value, *, leaf: bool) -> Value:
        return literal(change(np.asarray(value.array)), dtype, leaf=leaf)

    steps = tuple(
        replace(
            step,
            roots={name: seed and changed(seed, leaf=True) for name, seed in step.roots.items()},
            inputs={name: changed(value, leaf=True) for name, value in step.inputs.items()},
        )
        for step in case.steps
    )
    return replace(
        case,
        inputs={name: changed(value, leaf=True) for name, value in case.inputs.items()},
        constants={name: changed(value, leaf=False) for name, value in case.constants.items()},
        dims={name: sizes.get(size, size) for name, size in case.dims.items()},
        steps=steps,
    )
