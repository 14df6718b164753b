"""Other ways to call code: layouts, subsets of inputs, empty tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.checks.context import Context
from gradcheck.checks.points.degenerate import is_usable
from gradcheck.checks.points.point import Point
from gradcheck.engines.implementation.code_engine import CodeEngine
from gradcheck.engines.implementation.code_run import MIN_DIMENSIONS, PLAIN_CALL, CallMode, Layout
from gradcheck.language.case import Step
from gradcheck.language.problem import Problem
from gradcheck.language.random_streams import stream
from gradcheck.language.trial_draws import size_bounds

#: The memory layouts of which any numbers can be.
LAYOUTS: tuple[Layout, ...] = ("strided", "sliced", "transposed", "channels_last", "offset")
SUBSETS = ("only_input", "all_but_input")
#: Variants with shapes that the case does not have.
EDGE_SHAPE_VARIANTS = ("empty", "no_dimensions")
#: With more inputs, none is tried alone.
_MOST_INPUTS = 6
#: Points without elements are counted from here, after all trials.
_EMPTY = 2000


@dataclass(frozen=True, slots=True)
class CallVariant:
    """One way to call code: its name, problem and mode."""

    name: str
    problem: Problem
    mode: Any
    in_between: Problem | None = None
    may_refuse: bool = False  # an error is only noted
    detail: str = ""
    is_only_noted: bool = False  # any failure is only noted


def call_variants(context: Context, engine: CodeEngine) -> Iterator[CallVariant]:
    """Yield all variants in the order of trial."""
    own = context.points.own.problem
    yield CallVariant("backward_again", _with_two_passes(own), PLAIN_CALL)
    if not engine.code.keeps_state:
        moved = _moved(own)
        between = moved if engine.values_alone(moved) else own  # where the code raises at others
        yield CallVariant("called_in_between", own, CallMode(calls_in_between=True), in_between=between)
    yield from _subsets(own)
    if len(own.seeds[0]) > 1:
        yield from _roots_alone(own)
    if engine.code.is_torch:
        yield from _layouts(own, engine)
        yield CallVariant("incoming_expanded", _with_incoming(own, np.ones_like), CallMode(incoming="expanded"))
        yield CallVariant("incoming_rows", _with_incoming(own, _first_row), CallMode(incoming="expanded"))
        is_domain = context.case.implementations or all(value.expr is not None for value in own.case.inputs.values())
        if is_domain and not engine.draws_numbers(own):
            alike = replace(own, inputs={name: _first_row(array) for name, array in own.inputs.items()})
            yield CallVariant("inputs_expanded", alike, CallMode(inputs="expanded"), may_refuse=True)
        yield CallVariant("no_grad", own, CallMode(records_graph=False), may_refuse=True)
        yield CallVariant("no_gradients", own, CallMode(records_graph=False, requires_grad=False), may_refuse=True)
        yield CallVariant("apart", own, CallMode(without_accumulation=True), may_refuse=True)
    if context.case.implementations:  # the entry decides there
        beyond = (*_empty_variants(context), *_scalar_variants(context))
        yield from (replace(one, is_only_noted=not engine.code.is_torch) for one in beyond)


def _layouts(own: Problem, engine: CodeEngine) -> Iterator[CallVariant]:
    def dimensions(arrays: Iterable[np.ndarray | None]) -> int:
        return max((array.ndim for array in arrays if array is not None), default=0)

    draws = engine.draws_numbers(own)  # torch draws in the order of memory
    of_inputs, of_incoming = dimensions(own.inputs.values()), dimensions(own.seeds[0].values())
    for layout in LAYOUTS:
        needed = MIN_DIMENSIONS.get(layout, 1)
        if of_incoming >= needed:
            yield CallVariant(f"incoming_{layout}", own, CallMode(incoming=layout))
        if of_inputs >= needed and not draws:
            yield CallVariant(f"inputs_{layout}", own, CallMode(inputs=layout), may_refuse=True)


def _empty_variants(context: Context) -> Iterator[CallVariant]:
    own = context.points.own.problem
    stated = size_bounds(own.case)
    fixed = context.points.fixed_sizes
    free = [word for word in own.sizes if word not in fixed and stated.get(word, (0, 0))[0] == 0]
    for number, word in enumerate(free[:_MOST_INPUTS]):
        point = context.points.point_of_sizes({**own.sizes, word: 0}, _EMPTY + number, 1)
        if is_usable(point):
            yield CallVariant("empty", point.problem, PLAIN_CALL, may_refuse=True, detail=word)


def _scalar_variants(context: Context) -> Iterator[CallVariant]:
    """Yield 0-d tensors, if all tensors have one shape."""
    own = context.points.own.problem
    (seeds,) = own.seeds
    arrays = [*own.inputs.values(), *own.constants.values(), *seeds.values()]
    shapes = {None if one is None else one.shape for one in arrays}
    if len(shapes) != 1 or not all(one is not None and one.ndim and one.size for one in arrays):
        return
    inputs, constants = ({n: _first_number(a) for n, a in t.items()} for t in (own.inputs, own.constants))
    alone = _with_incoming(replace(own, inputs=inputs, constants=constants), _first_number)
    point = Point(alone, context.engines)
    if is_usable(point):
        yield CallVariant("no_dimensions", point.problem, PLAIN_CALL, may_refuse=True)


def _with_two_passes(problem: Problem) -> Problem:
    (step,), (seeds,) = problem.case.steps, problem.seeds
    generator = stream(problem.seed, "backward again")
    others = {n: None if g is None else _scaled(g, generator.uniform(0.5, 2.0)) for n, g in seeds.items()}
    steps = (step, Step("zero_grad", place=step.place), step)
    case = replace(problem.case, steps=steps)
    return replace(problem, case=case, seeds=(seeds, {}, others), forwards=({}, {}, {}))


def _scaled(array: np.ndarray, factor: float | np.ndarray) -> np.ndarray:
    return np.asarray(array * factor).astype(array.dtype)


def _moved(problem: Problem) -> Problem:
    generator = stream(problem.seed, "in between")
    moved = {name: _scaled(array, generator.uniform(0.5, 0.9, array.shape)) for name, array in problem.inputs.items()}
    return replace(problem, inputs=moved)


def _subsets(problem: Problem) -> Iterator[CallVariant]:
    names = [name for name, array in problem.inputs.items() if dtypes.is_differentiable(array.dtype)]
    if 1 < len(names) <= _MOST_INPUTS:
        for name in names:
            rest = [other for other in names if other != name]
            yield CallVariant("only_input", with_gradients(problem, [name]), PLAIN_CALL, detail=name)
            if len(names) > 2:
                yield CallVariant("all_but_input", with_gradients(problem, rest), PLAIN_CALL, detail=name)


def with_gradients(problem: Problem, names: list[str]) -> Problem:
    """Return the problem with all other inputs as constants."""
    case = problem.case
    others = {name: value for name, value in case.inputs.items() if name not in names}
    kept = {name: value for name, value in case.inputs.items() if name in names}
    return replace(
        problem,
        case=replace(case, inputs=kept, constants={**case.constants, **others}),
        inputs={name: array for name, array in problem.inputs.items() if name in names},
        constants={**problem.constants, **{name: problem.inputs[name] for name in others}},
    )


def _roots_alone(problem: Problem) -> Iterator[CallVariant]:
    (step,), (seeds,) = problem.case.steps, problem.seeds
    for root in seeds:
        one = replace(step, roots={root: step.roots[root]})
        alone = replace(problem, case=replace(problem.case, steps=(one,)), seeds=({root: seeds[root]},))
        yield CallVariant("one_output", alone, PLAIN_CALL, detail=root)


def _with_incoming(problem: Problem, change: Callable[[np.ndarray], np.ndarray]) -> Problem:
    (seeds,) = problem.seeds
    return replace(problem, seeds=({n: None if g is None else change(g) for n, g in seeds.items()},))


def _first_number(array: np.ndarray) -> np.ndarray:
    return array.ravel()[:1].reshape(())


def _first_row(array: np.ndarray) -> np.ndarray:
    return np.broadcast_to(array[:1], array.shape).copy() if array.ndim and array.size else array
