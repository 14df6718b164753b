"""Check code near its constants, and at sizes and ties of other kinds.

The entry's own comparisons are searched for both sides. Those of the code are hidden, but most constants that it
compares with, thresholds and block sizes, are in its source. Dims of the same size may be independent: a square hides a
height used for a width. Labels may all differ, and maxima may be unique.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.checks.claims.evaluations import check_engine
from gradcheck.checks.context import Context
from gradcheck.checks.implementations.undefined_derivatives import is_undefined
from gradcheck.checks.points.degenerate import degeneracy, is_usable
from gradcheck.checks.points.point import Point, Refusal
from gradcheck.checks.result import Comparison
from gradcheck.engines.implementation.code_engine import CodeEngine
from gradcheck.errors import GradcheckError
from gradcheck.facts import fact
from gradcheck.language.case import Case
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.language.problem import Problem, tensor_value
from gradcheck.language.random_streams import is_unbounded, stream
from gradcheck.language.sampling import graph_values
from gradcheck.language.trial_draws import listed_sizes, move_numbers, redraw_literal

#: How many constants are tried, and the range of sizes: of all, and of powers of two.
_MOST, _SIZES = 4, (8, 130, 1024)
#: Larger constants stand for infinity.
_LARGEST = 1e4
#: The number of the trial at which exponentials overflow.
_OVERFLOW_TRIAL = 3000
#: The most elements of a tensor.
MAX_BLOCK_ELEMENTS = 60_000
#: The number of the first trial here.
_FIRST = 4000
#: The numbers of an input with ties.
_TIED_NUMBERS = 2
#: A dim of a tensor: its name and its place. Dims of one group have one size.
Dim = tuple[str, int]
Sizes = Mapping[Dim, int]


def check(context: Context, engine: CodeEngine) -> Iterator[Comparison]:
    """Check the code at numbers and sizes about its own constants."""
    own, number = context.points.own.problem, 1000
    known = [abs(one) for one in engine.code.constants if 1 < abs(one) <= _LARGEST]
    for constant in list(dict.fromkeys(known))[:_MOST]:
        for sign in (1.0, -1.0):
            number += 1
            around = _inputs_around(own, sign * constant)
            yield from _check_at(context, engine, context.points.branch_point(around, number))
    for sizes in _sizes(context, block_sizes(engine.code.constants)):
        number += 1
        yield from _check_at(context, engine, context.points.point_of_sizes(sizes, number, 1))


def block_sizes(constants: Iterable[float]) -> list[int]:
    """Return the constants of code that may be sizes of blocks.

    Large ones are powers of two: others are counts of iterations, at which code with a loop takes long."""
    low, high, largest = _SIZES
    whole = {int(one) for one in constants if low <= one <= largest and one == int(one)}
    return sorted(one for one in whole if one <= high or one & (one - 1) == 0)[:_MOST]


def overflow(context: Context, engine: CodeEngine) -> Iterator[Comparison]:
    """Check gradients where exponentials overflow but the entry is defined."""
    point = context.points.point_of_sizes(context.points.own.problem.sizes, _OVERFLOW_TRIAL, 1, "far")
    if not is_usable(point) or context.points.is_refused(point):
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what overflows
        found = check_engine(point, point.evaluation(engine), context.options.tolerance)
    bad = [c for c in found if c.status == "failed" and is_undefined(c)]
    if any(c.what is ClaimKind.VALUE for c in bad):
        size = max(float(np.max(np.abs(a), initial=0.0)) for a in point.problem.inputs.values())
        first = next(c for c in bad if c.what is ClaimKind.VALUE)
        note = fact("overflows_far", engine=engine.name, size=size)
        yield first.subject.passed(shape=first.shape, dtype=first.dtype, elements=first.elements).with_notes(note)
    elif bad:
        context.points.variants.append(point)
        yield from bad


def _check_at(context: Context, engine: CodeEngine, point: Point | None) -> Iterator[Comparison]:
    if not is_usable(point) or context.points.is_refused(point):
        return
    found = check_engine(point, point.evaluation(engine), context.options.tolerance)
    if degeneracy(point, found) is None:
        context.points.variants.append(point)
        yield from found


def _inputs_around(problem: Problem, constant: float) -> Problem:
    """Return the problem with inputs without bounds on both sides of a number."""
    generator = stream(problem.seed, "about", repr(constant))
    inputs = {
        name: np.asarray(constant * generator.uniform(0.5, 1.5, array.shape)).astype(array.dtype)
        if dtypes.is_differentiable(array.dtype) and array.dtype.kind != "c" and _is_free(problem.case, name)
        else array
        for name, array in problem.inputs.items()
    }
    return replace(problem, inputs=inputs)


def _is_free(case: Case, name: str) -> bool:
    """Return whether the case states no domain for an input."""
    value = case.inputs[name]
    return value.expr is None or is_unbounded(value)


def _sizes(context: Context, blocks: Iterable[int]) -> Iterator[Mapping[str, int]]:
    """Yield sizes a little beyond each block."""
    own = context.points.own.problem
    largest = max([array.size for array in own.inputs.values()], default=1)
    fixed = context.points.fixed_sizes
    for block in blocks:
        for word, size in own.sizes.items():
            if word not in fixed and largest / max(size, 1) * block <= MAX_BLOCK_ELEMENTS:
                yield {**own.sizes, word: block + 3}


def check_varied(context: Context, engine: CodeEngine, blocks: Collection[int]) -> Iterator[Comparison]:
    """Check the code at other sizes, at repeated labels and at ties."""
    own = context.points.own.problem
    makers = [*_size_makers(own, blocks), *_labels(own), _with_ties]
    for number, make in enumerate(makers, _FIRST):
        generator = stream(own.seed, "varied arguments", number)
        problem = _with_incoming(make(own, generator), generator)
        if problem is None:
            continue
        point = context.points.branch_point(problem, number)
        if not is_usable(point):
            continue
        got = point.evaluation(engine)
        if got.error is not None or any(state.error for state in got.states):
            continue
        found = check_engine(point, got, context.options.tolerance)
        is_value_right = all(c.status != "failed" for c in found if c.what is not ClaimKind.GRADIENT)
        tied = next((c.tensor for c in found if _has_size_of_another(own, problem, c)), None)
        if tied is not None:
            context.points.refusals.append(Refusal("", {}, f"{tied}, equal to another input's,"))
        elif is_value_right and degeneracy(point, found) is None:
            context.points.variants.append(point)
            yield from found


def _has_size_of_another(own: Problem, problem: Problem, c: Comparison) -> bool:
    """Return whether a gradient takes another input's size for its own.

    The two sizes are equal at the own numbers, and the code may be meant for equal ones."""
    if c.status != "failed" or c.mismatch is None or c.mismatch.kind != "shapes_differ" or c.tensor not in own.inputs:
        return False
    sizes = {name: zip(array.shape, _arrays(own)[name].shape, strict=True) for name, array in _arrays(problem).items()}
    others = {pair for name, pairs in sizes.items() if name != c.tensor for pair in pairs}
    got, want, before = c.mismatch["got"], c.mismatch["want"], own.inputs[c.tensor].shape
    of_axes = zip(got, want, before, strict=False)
    return len(got) == len(want) and all(size == right or (size, first) in others for size, right, first in of_axes)


Maker = Callable[[Problem, np.random.Generator], Problem]


def _with_incoming(problem: Problem, generator: np.random.Generator) -> Problem | None:
    """Return the problem with random cotangents; None if undefined."""
    try:
        values = graph_values(problem.case, problem.environment())
        (roots,) = problem.seeds
        arrays = {name: np.asarray(tensor_value(values, name)) for name in roots}
    except (GradcheckError, LookupError):
        return None
    return replace(problem, seeds=({name: redraw_literal(a, a.shape, generator) for name, a in arrays.items()},))


# Sizes --------------------------------------------------------------------------------------------


def _size_makers(own: Problem, blocks: Collection[int]) -> Iterator[Maker]:
    """Yield distinct sizes in two orders, then sizes beyond each block."""
    groups = [] if listed_sizes(own.case) else list(size_groups(own))
    if not groups:
        return
    first = [_size_of(own, group) for group in groups]
    is_literal = any(value.array is not None for value in (*own.case.inputs.values(), *own.case.constants.values()))
    if is_literal or len(set(first)) < len(first):
        yield _resized({dim: size for group, size in zip(groups, _distinct(first), strict=True) for dim in group})
        last = _distinct(first[::-1])[::-1]
        yield _resized({dim: size for group, size in zip(groups, last, strict=True) for dim in group})
    for block in blocks if is_literal else ():  # sizes of shapes are tried by their names
        for group in groups:
            for size in (block + 3, 2 * block):
                yield _resized(dict.fromkeys(group, size))


def _distinct(sizes: list[int]) -> list[int]:
    """Return larger sizes, no two of them equal."""
    found: list[int] = []
    for size in sizes:
        found.append(next(n for n in range(size + 1, size + 2 + len(sizes)) if n not in found))
    return found


def _size_of(problem: Problem, group: Collection[Dim]) -> int:
    name, dim = next(iter(group))
    return int(_arrays(problem)[name].shape[dim])


def _arrays(problem: Problem) -> dict[str, np.ndarray]:
    return {**problem.inputs, **problem.constants}


def size_groups(problem: Problem) -> Iterator[tuple[Dim, ...]]:
    """Yield the smallest groups of dims that can be resized together."""
    sizes = {(name, d): n for name, array in _arrays(problem).items() for d, n in enumerate(array.shape) if n > 1}
    grouped: set[Dim] = set()
    for dim in sizes:
        if dim not in grouped:
            found = next((one for one in _candidates(dim, sizes) if _fits(problem, one, sizes[dim] + 1)), None)
            if found is not None and grouped.isdisjoint(found):
                grouped.update(found)
                yield found


def _candidates(dim: Dim, sizes: Sizes) -> Iterator[tuple[Dim, ...]]:
    name, place = dim
    same = [other for other in sizes if other != dim and sizes[other] == sizes[dim]]
    count = {one: 1 + max(d for n, d in sizes if n == one) for one, _ in sizes}
    yield (dim,)
    yield from ((dim, other) for other in same if other[0] != name)
    yield (dim, *(other for other in same if other[0] != name and other[1] == place))
    yield (dim, *(other for other in same if other[0] != name and count[other[0]] - other[1] == count[name] - place))
    yield (dim, *same)


def _fits(problem: Problem, group: Collection[Dim], size: int) -> bool:
    try:
        graph_values(problem.case, _with_sizes(problem, dict.fromkeys(group, size)).environment())
    except GradcheckError:
        return False
    return True


def _resized(sizes: Sizes) -> Maker:
    def make(problem: Problem, generator: np.random.Generator) -> Problem:
        changed = _with_sizes(problem, sizes)
        return replace(changed, inputs={n: move_numbers(a, generator, "near") for n, a in changed.inputs.items()})

    return make


def _with_sizes(problem: Problem, sizes: Sizes) -> Problem:
    """Return the problem resized; numbers repeat, or are cut off."""

    def resized(name: str, array: np.ndarray) -> np.ndarray:
        changed = {d: size for (one, d), size in sizes.items() if one == name}
        count = array.size
        for d, size in changed.items():
            count = count // array.shape[d] * size
        if count > MAX_BLOCK_ELEMENTS:
            return array
        for d, size in changed.items():
            array = np.take(array, np.arange(size) % array.shape[d], axis=d)
        return array

    inputs, constants = ({n: resized(n, a) for n, a in part.items()} for part in (problem.inputs, problem.constants))
    return replace(problem, inputs=inputs, constants=constants)


# Labels and ties ----------------------------------------------------------------------------------


def _labels(own: Problem) -> Iterator[Maker]:
    """Yield literal integers drawn again in their range, and all equal."""
    literals = [name for name, value in own.case.constants.items() if value.array is not None]
    names = [name for name in literals if own.constants[name].dtype.kind in "iub" and own.constants[name].size > 1]

    def drawn(array: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        found = generator.integers(int(array.min()), int(array.max()) + 1, array.shape)
        found.flat[-1] = found.flat[0]
        return found.astype(array.dtype)

    def with_labels(draw: Callable[[np.ndarray, np.random.Generator], np.ndarray]) -> Maker:
        def make(problem: Problem, generator: np.random.Generator) -> Problem:
            made = {n: draw(a, generator) if n in names else a for n, a in problem.constants.items()}
            return replace(problem, constants=made)

        return make

    if names:
        yield with_labels(drawn)
        yield with_labels(lambda array, generator: np.full_like(array, array.flat[0]))


def _with_ties(own: Problem, generator: np.random.Generator) -> Problem:
    """Return inputs of few numbers each, among their own."""

    def tied(array: np.ndarray) -> np.ndarray:
        if not dtypes.is_differentiable(array.dtype) or array.dtype.kind == "c" or array.size < _TIED_NUMBERS:
            return array
        return generator.choice(np.sort(array, axis=None)[-_TIED_NUMBERS:], array.shape)

    return replace(own, inputs={name: tied(array) for name, array in own.inputs.items()})
