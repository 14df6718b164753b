"""Mistakes of loops: contributions overwritten or lost, tensors flipped.

Each contribution is the entry's gradient where all but one slice of the incoming gradient, or of another input, is
zero.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import replace
from itertools import combinations

import numpy as np

from gradcheck.autograd.dtypes import wide
from gradcheck.checks.failures.diagnosis.catalogue import matches
from gradcheck.checks.failures.diagnosis.evidence import Evidence
from gradcheck.checks.implementations.call_variants import with_gradients
from gradcheck.checks.implementations.gradient_relations import EvidenceAtPoints, Relation, relation_at_all_points
from gradcheck.checks.points.point import Point
from gradcheck.checks.result import Diagnosis
from gradcheck.facts import fact
from gradcheck.language.problem import Problem

#: The longest axis, and the most axes that are tried.
_LONGEST, _MOST_AXES = 24, 10
#: The most loops, one within another, of which only the last round may count.
_MOST_LOOPS = 4


def loop_mistakes(name: str, seen: EvidenceAtPoints) -> tuple[Diagnosis, ...]:
    """Return relations of a gradient to its contributions."""

    def at(point: Point, evidence: Evidence, keys: frozenset[Hashable] | None) -> Iterator[Relation]:
        if evidence.got_or_zeros.shape != evidence.want.shape:
            return
        for number, (tensor, axis) in enumerate(_axes(name, point.problem)):
            key = (tensor, axis)
            if number < _MOST_AXES and (keys is None or any(k[:2] == key for k in keys if isinstance(k, tuple))):
                parts = list(_parts(name, point, tensor, axis))
                yield from _slice_relations(parts, key, evidence)
        yield from _last_of_nested_loops(name, point, evidence)
        for text, problem in _flipped_inputs(name, point.problem):
            if (keys is None or ("as if", text) in keys) and matches(_gradient(name, point, problem), evidence):
                yield Relation("flipped", ("as if", text), fact("computed_with", tensor=text))

    return relation_at_all_points(seen, at)


def ignored_incoming(name: str, seen: EvidenceAtPoints) -> tuple[Diagnosis, ...]:
    """Return the result whose incoming gradient the code ignores."""

    def at(point: Point, evidence: Evidence, keys: frozenset[Hashable] | None) -> Iterator[Relation]:
        (seeds,) = point.problem.seeds
        for root, seed in seeds.items():
            if seed is not None and len(seeds) > 1:
                without = replace(point.problem, seeds=({**seeds, root: np.zeros_like(seed)},))
                if matches(_gradient(name, point, without), evidence):
                    yield Relation("use_dropped", root, fact("incoming_of_one_ignored", tensor=root))

    return relation_at_all_points(seen, at)


def _slice_relations(parts: list[np.ndarray | None], key: tuple[str, int], evidence: Evidence) -> Iterator[Relation]:
    found = [one for one in parts if one is not None]
    if len(found) != len(parts) or not found:
        return
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
                alone = np.zeros_like(seed)
                alone[last] = seed[last]
                there = replace(point.problem, seeds=({**seeds, root: alone},))
                if matches(_gradient(name, point, there), evidence):
                    yield Relation(
                        "overwritten",
                        (root, nested),
                        fact("nested_overwritten", tensor=root, dims=tuple(map(str, nested))),
                    )


def _axes(name: str, problem: Problem) -> Iterator[tuple[str, int]]:
    """Yield short axes of incoming gradients, then of other inputs."""
    (seeds,) = problem.seeds
    tensors = {**seeds, **{other: array for other, array in problem.inputs.items() if other != name}}
    for tensor, array in tensors.items():
        for axis in range(0 if array is None else array.ndim):
            if array is not None and 1 < array.shape[axis] <= _LONGEST:
                yield tensor, axis


def _parts(name: str, point: Point, tensor: str, axis: int) -> Iterator[np.ndarray | None]:
    problem = point.problem
    (seeds,) = problem.seeds
    array = seeds[tensor] if tensor in seeds else problem.inputs[tensor]
    assert array is not None
    for place in range(array.shape[axis]):
        alone = np.zeros_like(array)
        where = (slice(None),) * axis + (place,)
        alone[where] = array[where]
        if tensor in seeds:
            alone_problem = replace(problem, seeds=({**seeds, tensor: alone},))
        else:
            alone_problem = replace(problem, inputs={**problem.inputs, tensor: alone})
        yield _gradient(name, point, alone_problem)


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
