"""The same case with one part of it changed: an entry, a leaf, a step, a number; and what its tensors come to."""

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
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.expr.nodes import Expr
from gradcheck.language.expr.traverse import with_children


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


def value_of(expr: Expr, values: Mapping[str, Any]) -> Any:
    try:
        return evaluate(expr, values)
    except GradcheckError:
        return None


def with_entry(case: Case, name: str, expr: Expr) -> Case:
    return replace(case, graph={**case.graph, name: Claim.of(expr)})


def with_leaf(case: Case, name: str, array: np.ndarray) -> Case:
    """A tensor given by its numbers: an input if it can have a gradient."""
    dtype = dtypes.BY_NAME[case.dtype]
    leaf = dtypes.is_differentiable(array.dtype)
    section = "inputs" if leaf else "constants"
    return replace(case, **{section: {**getattr(case, section), name: literal(array, dtype, leaf=leaf)}})  # type: ignore[arg-type]


def with_step(case: Case, index: int, step: Step) -> Case:
    return replace(case, steps=(*case.steps[:index], step, *case.steps[index + 1 :]))


def with_part(root: Expr, old: Expr, new: Expr) -> Expr:
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


def fresh_name(case: Case) -> str:
    taken = {*case.inputs, *case.constants, *case.graph, *case.let, *case.dims}
    return next(name for name in (f"t{number}" for number in range(len(taken) + 1)) if name not in taken)


def named_literals(case: Case) -> Iterator[tuple[str, str, Value]]:
    """Every number that can be made simpler: where it stands (a section, or a step's number), its name, its value."""
    for section in ("inputs", "constants"):
        for name, value in getattr(case, section).items():
            yield section, name, value
    for index, step in enumerate(case.steps):
        for name, seed in step.roots.items():
            if seed is not None:
                yield str(index), name, seed


def literals(case: Case) -> Iterator[Value]:
    return (value for _, _, value in named_literals(case))


def with_literal(case: Case, kind: str, name: str, value: Value) -> Case:
    if kind.isdigit():
        step = case.steps[int(kind)]
        return with_step(case, int(kind), replace(step, roots={**step.roots, name: value}))
    return replace(case, **{kind: {**getattr(case, kind), name: value}})  # type: ignore[arg-type]


def mapped(case: Case, change: Callable[[np.ndarray], np.ndarray], sizes: Mapping[int, int]) -> Case:
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
