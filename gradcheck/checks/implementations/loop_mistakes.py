"""Mistakes of loops: contributions overwritten or lost, tensors flipped.

Each contribution is the entry's gradient where all but one slice of the incoming gradient, or of another input, is
zero.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import replace
from itertools import combinations, product
from math import prod

import numpy as np

from gradcheck.autograd.dtypes import wide
from gradcheck.checks.failures.correction.computed_formula import EvidenceAtPoints
from gradcheck.checks.failures.diagnosis.catalogue import Evidence, matches
from gradcheck.checks.implementations.call_variants import with_gradients
from gradcheck.checks.implementations.gradient_relations import relation_at_all_points
from gradcheck.checks.implementations.op_mistakes import Relation
from gradcheck.checks.points.point import Point
from gradcheck.checks.result import Diagnosis
from gradcheck.facts import fact
from gradcheck.language.problem import Problem

#: The longest axis, and the most axes that are tried.
_LONGEST, _MOST_AXES = 24, 10
#: The most loops, one within another, of which only the last round may count.
_MOST_LOOPS = 4
#: The most windows of a pair of axes, and how nearly contributions add up.
_MOST_WINDOWS, _NEAR = 36, 1e-5


def loop_mistakes(name: str, seen: EvidenceAtPoints) -> tuple[Diagnosis, ...]:
    """Return relations of a gradient to its contributions."""

    def at(point: Point, evidence: Evidence, keys: frozenset[Hashable] | None) -> Iterator[Relation]:
        if evidence.got_or_zeros.shape != evidence.want.shape:
            return
        axes = list(_axes(name, point.problem))[:_MOST_AXES]
        seeds = point.problem.seeds[0]
        is_found = False
        for one in _slices_of([axis for axis in axes if axis[0] in seeds], name, point, evidence, keys):
            is_found = True
            yield one
        yield from _last_of_nested_loops(name, point, evidence)
        yield from _overwritten_windows(name, point, evidence)
        if is_found:
            return  # other inputs cost differences anew
        yield from _slices_of([axis for axis in axes if axis[0] not in seeds], name, point, evidence, keys)
        for text, problem in _flipped_inputs(name, point.problem):
            if (keys is None or ("as if", text) in keys) and matches(_gradient(name, point, problem), evidence):
                yield Relation("flipped", ("as if", text), fact("computed_with", tensor=text))
        for other in point.problem.inputs:
            if other != name and (keys is None or ("zero", other) in keys):
                problem = _with_array(point.problem, other, np.zeros_like(point.problem.inputs[other]))
                if matches(_gradient(name, point, problem), evidence):
                    yield Relation("use_dropped", ("zero", other), fact("computed_without", tensor=other))

    return relation_at_all_points(seen, at)


def result_mistakes(name: str, seen: EvidenceAtPoints) -> tuple[Diagnosis, ...]:
    """Return the result whose incoming gradient is ignored or has a factor."""

    def at(point: Point, evidence: Evidence, keys: frozenset[Hashable] | None) -> Iterator[Relation]:
        (seeds,) = point.problem.seeds
        for root, seed in seeds.items():
            if seed is not None and len(seeds) > 1:
                others = _gradient(name, point, _with_array(point.problem, root, np.zeros_like(seed)))
                if matches(others, evidence):
                    yield Relation("use_dropped", root, fact("incoming_of_one_ignored", tensor=root))
                elif others is not None and (factor := _factor(evidence, others)):
                    yield Relation("factor", (root, factor), fact("result_with_factor", tensor=root, factor=factor))

    return relation_at_all_points(seen, at)


def _slices_of(
    axes: list[tuple[str, int]], name: str, point: Point, evidence: Evidence, keys: frozenset[Hashable] | None
) -> Iterator[Relation]:
    for tensor, axis in axes:
        if keys is None or any(k[:2] == (tensor, axis) for k in keys if isinstance(k, tuple)):
            parts = [one for one in _parts(name, point, tensor, axis) if one is not None]
            if _add_up(parts, wide(evidence.want)):  # else the gradient is not linear in that input
                yield from _slice_relations(parts, (tensor, axis), evidence)


def _add_up(parts: list[np.ndarray], whole: np.ndarray) -> bool:
    near = _NEAR * float(np.max(np.abs(whole), initial=0.0))
    return len(parts) > 0 and np.allclose(np.sum(parts, axis=0), whole, rtol=_NEAR, atol=near)


def _factor(evidence: Evidence, others: np.ndarray) -> float:
    """Return the factor of what is not among `others`, or 0 if none fits."""
    part, mine = wide(evidence.want) - others, wide(evidence.got_or_zeros) - others
    if part.shape != mine.shape or part.dtype.kind == "c" or not part.any():
        return 0.0
    factor = float(f"{np.vdot(part, mine) / np.vdot(part, part):.5g}")
    return factor if matches((others + factor * part).astype(evidence.want.dtype), evidence) else 0.0


def _slice_relations(found: list[np.ndarray], key: tuple[str, int], evidence: Evidence) -> Iterator[Relation]:
    tensor, axis = key
    overlaid = np.zeros(evidence.want.shape)
    for one in found:
        overlaid = np.where(one != 0, one, overlaid)
    if matches(overlaid.astype(evidence.want.dtype), evidence):
        yield Relation("overwritten", (*key, "overlaid"), fact("slices_overwritten", tensor=tensor, dim=axis))
    for place, text in ((-1, "last"), (0, "first")):
        if matches(found[place].astype(evidence.want.dtype), evidence):
            yield Relation("use_dropped", (*key, text), fact("slice_alone", which=text, tensor=tensor, dim=axis))
        if matches((wide(evidence.want) - found[place]).astype(evidence.want.dtype), evidence):
            missing = fact("slice_left_out", which=text, tensor=tensor, dim=axis)
            yield Relation("use_dropped", (*key, "without", text), missing)
    yield from _missing_slices(found, key, evidence)
    for dim, size in enumerate(evidence.want.shape):
        if size == len(found):
            own = np.stack([one.take(place, dim) for place, one in enumerate(found)], dim)
            if matches(own.astype(evidence.want.dtype), evidence):
                what = fact("slices_apart", tensor=tensor, dim=axis, own=dim)
                yield Relation("path_dropped", (*key, dim, "own"), what)


def _missing_slices(parts: list[np.ndarray], key: tuple[str, int], evidence: Evidence) -> Iterator[Relation]:
    table = np.stack([one.ravel() for one in parts], axis=1)
    if table.dtype.kind == "c":
        return
    for counted in _slice_counts(table, wide(evidence.got_or_zeros).ravel()):
        left_out = tuple(int(place) for place in np.flatnonzero(counted == 0))
        total = (table @ counted).reshape(evidence.want.shape).astype(evidence.want.dtype)
        if left_out and len(left_out) < len(parts) and matches(total, evidence):
            tensor, axis = key
            missing = fact("slices_left_out", places=left_out, tensor=tensor, dim=axis)
            yield Relation("use_dropped", (*key, left_out), missing)
            return


def _slice_counts(table: np.ndarray, got: np.ndarray) -> Iterator[np.ndarray]:
    """Yield how often each column counts, 0 or 1: solved, else a prefix."""
    count = table.shape[1]
    if not (np.isfinite(table).all() and np.isfinite(got).all()):  # LAPACK may iterate for ever
        return
    if table.shape[0] >= count and np.linalg.matrix_rank(table) == count:
        shares = np.rint(np.linalg.lstsq(table, got, rcond=None)[0])
        if set(shares.tolist()) <= {0.0, 1.0}:
            yield shares
        return
    for place in range(1, count):
        yield (np.arange(count) < place).astype(float)
        yield (np.arange(count) >= place).astype(float)


def _last_of_nested_loops(name: str, point: Point, evidence: Evidence) -> Iterator[Relation]:
    """Yield axes of an incoming gradient of which only the last place counts."""
    (seeds,) = point.problem.seeds
    for root, seed in seeds.items():
        if seed is None:
            continue
        axes = [axis for axis in range(seed.ndim) if seed.shape[axis] > 1]
        for count in range(2, min(len(axes), _MOST_LOOPS) + 1):
            for nested in combinations(axes, count):
                last = tuple(slice(-1, None) if axis in nested else slice(None) for axis in range(seed.ndim))
                if matches(_gradient(name, point, _with_array(point.problem, root, _alone(seed, last))), evidence):
                    what = fact("nested_overwritten", tensor=root, dims=tuple(map(str, nested)))
                    yield Relation("overwritten", (root, nested), what)


def _overwritten_windows(name: str, point: Point, evidence: Evidence) -> Iterator[Relation]:
    """Yield pairs of axes whose windows overlap, and replace each other."""
    (seeds,) = point.problem.seeds
    for (root, seed), axes in product(seeds.items(), ((1, 2), (2, 3))):
        if seed is None or seed.ndim != evidence.want.ndim or seed.ndim <= axes[1]:
            continue
        sizes = [seed.shape[axis] for axis in axes]
        if min(sizes) < 2 or prod(sizes) > _MOST_WINDOWS:
            continue
        parts: dict[tuple[int, ...], np.ndarray] = {}
        for places in np.ndindex(*sizes):
            alone = _alone(seed, (slice(None),) * axes[0] + places)
            one = _gradient(name, point, _with_array(point.problem, root, alone))
            parts[places] = np.zeros(evidence.want.shape) if one is None else one
        what = fact("windows_overwritten", tensor=root, dims=tuple(map(str, axes)))
        for whole, order in product((False, True), (1, -1)):  # by numbers of a kernel, the first window comes last
            overlaid = np.zeros(evidence.want.shape)
            for places in list(parts)[::order]:
                covered = _window(parts, places, axes) if whole else parts[places] != 0
                overlaid = np.where(covered, parts[places], overlaid)
            if matches(overlaid.astype(evidence.want.dtype), evidence):
                yield Relation("overwritten", (root, axes, "windows"), what)


def _window(parts: dict[tuple[int, ...], np.ndarray], places: tuple[int, ...], axes: tuple[int, int]) -> np.ndarray:
    """Return where the window at these places may have numbers."""
    covered = np.ones(next(iter(parts.values())).shape, dtype=bool)
    for number, axis in enumerate(axes):
        alike = sum(np.abs(one) for at, one in parts.items() if at[number] == places[number])
        reached = np.flatnonzero(np.moveaxis(np.asarray(alike), axis, 0).reshape(covered.shape[axis], -1).any(1))
        span = np.zeros(covered.shape[axis], dtype=bool)
        if reached.size:
            span[reached[0] : reached[-1] + 1] = True
        covered &= span.reshape((-1,) + (1,) * (covered.ndim - axis - 1))
    return covered


def _axes(name: str, problem: Problem) -> Iterator[tuple[str, int]]:
    """Yield short axes of incoming gradients, then of other inputs."""
    (seeds,) = problem.seeds
    tensors = {**seeds, **{other: array for other, array in problem.inputs.items() if other != name}}
    for tensor, array in tensors.items():
        for axis in range(0 if array is None else array.ndim):
            if array is not None and 1 < array.shape[axis] <= _LONGEST:
                yield tensor, axis


def _parts(name: str, point: Point, tensor: str, axis: int) -> Iterator[np.ndarray | None]:
    (seeds,) = point.problem.seeds
    array = seeds[tensor] if tensor in seeds else point.problem.inputs[tensor]
    assert array is not None
    for place in range(array.shape[axis]):
        alone = _alone(array, ((slice(None),) * axis + (place,)))
        yield _gradient(name, point, _with_array(point.problem, tensor, alone))


def _alone(array: np.ndarray, where: tuple[slice | int, ...]) -> np.ndarray:
    """Return the array with zeros everywhere else."""
    found = np.zeros_like(array)
    found[where] = array[where]
    return found


def _with_array(problem: Problem, name: str, array: np.ndarray) -> Problem:
    """Return the problem with another incoming gradient, or input."""
    (seeds,) = problem.seeds
    if name in seeds:
        return replace(problem, seeds=({**seeds, name: array},))
    return replace(problem, inputs={**problem.inputs, name: array})


def _gradient(name: str, point: Point, problem: Problem) -> np.ndarray | None:
    found = point.engines.reference.evaluate(with_gradients(problem, [name]))
    if not found.states or found.error is not None:
        return None
    gradient = found.states[0].gradients.get(name)
    return None if gradient is None else wide(gradient)


def _flipped_inputs(name: str, problem: Problem) -> Iterator[tuple[str, Problem]]:
    for other, array in problem.inputs.items():
        axes: list[tuple[int, ...]] = [(axis,) for axis in range(array.ndim) if array.shape[axis] > 1]
        axes += [(array.ndim - 2, array.ndim - 1)] if array.ndim > 1 else []
        for flipped in axes if other != name else ():
            changed = {**problem.inputs, other: np.flip(array, flipped).copy()}
            yield f"{other}.flip({', '.join(map(str, flipped))})", replace(problem, inputs=changed)
