"""A problem as a case with literals only, and edits of that case."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.modes import using_default_dtype
from gradcheck.errors import GradcheckError
from gradcheck.language.case import Case, Claim, Step, Value
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.expr.nodes import Call, Expr
from gradcheck.language.problem import Problem
from gradcheck.language.trial_draws import without_trials


def pin(problem: Problem) -> Case:
    """Return the case with literals for all inputs and incoming gradients."""
    case, dtype = problem.case, problem.dtype
    steps = tuple(
        replace(
            step,
            roots={name: _root(seeds[name], dtype) for name in step.roots} if step.action == "backward" else {},
            inputs={name: literal(array, dtype, leaf=True) for name, array in forward.items()},
        )
        for step, seeds, forward in zip(case.steps, problem.seeds, problem.forwards, strict=True)
    )
    case = without_trials(case)
    return replace(
        case,
        inputs={name: literal(array, dtype, leaf=True) for name, array in problem.inputs.items()},
        constants={name: literal(array, dtype, leaf=False) for name, array in problem.constants.items()},
        steps=steps,
        dims=dict(problem.sizes),
        shapes={},
        symbol_sizes={},
        seed=0,
    )


def literal(array: np.ndarray, dtype: np.dtype, *, leaf: bool) -> Value:
    """Return an array as a value of a file of this dtype."""
    floating = dtypes.is_differentiable(array.dtype)
    plain = array.dtype == dtype if leaf or floating else array.dtype in (np.int64, np.bool_)
    return Value(array=array, dtype="" if plain else array.dtype.name)


def _root(seed: np.ndarray | None, dtype: np.dtype) -> Value | None:
    return None if seed is None else literal(seed, dtype, leaf=True)


def count_operations(case: Case) -> int:
    """Return how many ops the graph applies."""
    return sum(isinstance(node, Call) for claim in case.graph.values() for node in claim.expr.walk())


def values_of(case: Case) -> dict[str, Any]:
    """Return the forward values of a pinned case, up to an error."""
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
    """Return an expression's value; None if it has none."""
    try:
        return evaluate(expr, values)
    except GradcheckError:
        return None


def with_entry(case: Case, name: str, expr: Expr) -> Case:
    """Return the case with another expression for an entry."""
    return replace(case, graph={**case.graph, name: Claim.of(expr)})


def with_leaf(case: Case, name: str, array: np.ndarray) -> Case:
    """Return the case with a tensor as an input, or else a constant."""
    dtype = dtypes.BY_NAME[case.dtype]
    if dtypes.is_differentiable(array.dtype):
        return replace(case, inputs={**case.inputs, name: literal(array, dtype, leaf=True)})
    return replace(case, constants={**case.constants, name: literal(array, dtype, leaf=False)})


def with_step(case: Case, index: int, step: Step) -> Case:
    """Return the case with another step at this index."""
    return replace(case, steps=(*case.steps[:index], step, *case.steps[index + 1 :]))


def fresh_name(case: Case) -> str:
    """Return an unused name: `t0`, `t1`, …"""
    taken = {*case.inputs, *case.constants, *case.graph, *case.let, *case.dims}
    return next(name for name in (f"t{number}" for number in range(len(taken) + 1)) if name not in taken)


@dataclass(frozen=True, slots=True)
class GivenTensor:
    """A tensor that a case gives by its numbers."""

    section: Literal["inputs", "constants", "roots"]
    name: str
    value: Value
    step: int = 0  # of a root


def given_tensors(case: Case) -> Iterator[GivenTensor]:
    """Yield every tensor that can be simplified."""
    for name, value in case.inputs.items():
        yield GivenTensor("inputs", name, value)
    for name, value in case.constants.items():
        yield GivenTensor("constants", name, value)
    for index, step in enumerate(case.steps):
        for name, seed in step.roots.items():
            if seed is not None:
                yield GivenTensor("roots", name, seed, index)


def with_tensor_value(case: Case, old: GivenTensor, value: Value) -> Case:
    """Return the case with another value for a tensor."""
    if old.section == "roots":
        step = case.steps[old.step]
        return with_step(case, old.step, replace(step, roots={**step.roots, old.name: value}))
    changed: Any = {old.section: {**getattr(case, old.section), old.name: value}}
    return replace(case, **changed)


def count_numbers(case: Case) -> int:
    """Return how many numbers a case gives."""
    return sum(int(np.size(one.value.array)) for one in given_tensors(case) if one.value.array is not None)


def with_arrays(case: Case, change: Callable[[np.ndarray], np.ndarray], sizes: Mapping[int, int]) -> Case:
    """Return the case with every array and the named sizes changed."""
    dtype = dtypes.BY_NAME[case.dtype]

    def changed(value: Value, *, leaf: bool = True) -> Value:
        return value if value.array is None else literal(change(np.asarray(value.array)), dtype, leaf=leaf)

    for one in given_tensors(case):
        case = with_tensor_value(case, one, changed(one.value, leaf=one.section != "constants"))
    forwards = ({name: changed(value) for name, value in step.inputs.items()} for step in case.steps)
    return replace(
        case,
        dims={name: sizes.get(size, size) for name, size in case.dims.items()},
        steps=tuple(replace(step, inputs=inputs) for step, inputs in zip(case.steps, forwards, strict=True)),
    )
