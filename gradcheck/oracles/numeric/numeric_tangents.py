"""Tangents of all results along one direction, from the forward alone.

One complex step of all inputs at once gives the tangents of every tensor of a graph, as far as its ops are analytic;
differences give the others, and kinks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gradcheck.autograd.dtypes import largest_finite, wide
from gradcheck.autograd.op import Op
from gradcheck.errors import GradcheckError
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.expr.traverse import free_names
from gradcheck.language.problem import Problem
from gradcheck.language.random_streams import stream
from gradcheck.oracles.numeric.directional_derivative import EPSILON, MARGIN, STEPS, STRAY
from gradcheck.oracles.numeric.finite_differences import Estimate, slopes
from gradcheck.oracles.numeric.objective import WideHost
from gradcheck.oracles.numeric.perturbed_array import ForwardPass, Perturbed

Arrays = Mapping[str, np.ndarray]
#: `compute(moved, forward)`: all results that move, by name, less those that cannot be computed.
Compute = Callable[[Mapping[str, Perturbed], ForwardPass], Mapping[str, Any]]

#: The rounding of a difference, relative to the element.
_ROUNDINGS = 2.0**-50


def tangents_of_graph(problem: Problem, directions: Arrays) -> dict[str, Estimate]:
    """Return the tangents of a graph in double precision."""
    points = {name: problem.inputs[name] for name in directions}

    def compute(moved: Mapping[str, Perturbed], forward: ForwardPass) -> dict[str, Any]:
        names: dict[str, Any] = {**problem.environment(), **moved}
        names |= {name: array.copy() for name, array in problem.constants.items()}
        missing: set[str] = set()
        for name, claim in problem.case.graph.items():
            if missing.isdisjoint(free_names(claim.expr)):
                try:
                    names[name] = evaluate(claim.expr, names, WideHost(forward))
                    continue
                except GradcheckError:
                    if forward.at_rest:
                        raise
            missing.add(name)
        return {name: names[name] for name in problem.case.graph if name not in missing}

    return tangents(compute, points, directions, problem.seed)


def tangents_of_operation(
    op: Op, arguments: Callable[[Sequence[Any]], tuple[tuple[Any, ...], dict[str, Any]]], moving: Sequence[np.ndarray],
    directions: Sequence[np.ndarray],
) -> dict[str, Estimate]:  # fmt: skip
    """Return the tangents of one op's outputs, by `0`, `1` and so on."""

    def compute(moved: Mapping[str, Perturbed], forward: ForwardPass) -> dict[str, Any]:
        args, kwargs = arguments([moved[str(place)] for place in range(len(moving))])
        try:
            made = WideHost(forward).call(op, args, kwargs)
        except GradcheckError:
            if forward.at_rest:
                raise
            return {}
        return {str(number): one for number, one in enumerate(made if isinstance(made, tuple) else (made,))}

    numbered = {str(place): array for place, array in enumerate(moving)}
    return tangents(compute, numbered, {str(place): way for place, way in enumerate(directions)}, 0)


def tangents(compute: Compute, points: Arrays, directions: Arrays, seed: int) -> dict[str, Estimate]:
    """Return the tangents of all that moves. Raises GradcheckError."""
    points = {name: wide(array) for name, array in points.items()}
    directions = {name: wide(array) for name, array in directions.items()}
    forward = ForwardPass(at_rest=True)
    rest = _moved_arrays(compute({name: Perturbed(array, forward) for name, array in points.items()}, forward))
    found = _by_complex_step(compute, points, directions, rest, seed)
    others = {name: array for name, array in rest.items() if name not in found}
    if others:
        found |= _by_differences(compute, points, directions, others, forward.detached)
    return {name: _mark_not_finite(tangent, rest[name]) for name, tangent in found.items()}


def _mark_not_finite(found: Estimate, value: np.ndarray) -> Estimate:
    """Mark elements whose value is not finite as kinks with any side."""
    lost = ~np.isfinite(value)
    if not np.any(lost):
        return found
    left, right = np.where(lost, -np.inf, found.left), np.where(lost, np.inf, found.right)
    return replace(found, left=left, right=right, kinked=found.kinked | lost, error=np.where(lost, np.inf, found.error))


def _moved_arrays(computed: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Return all floating arrays that moved, parts of a tuple as `m[0]`."""
    found: dict[str, np.ndarray] = {}
    waiting = list(computed.items())
    while waiting:
        name, value = waiting.pop()
        if isinstance(value, (tuple, list)):
            waiting += [(f"{name}[{index}]", part) for index, part in enumerate(value)]
        elif type(value) is Perturbed and value.data.dtype.kind in "fc":
            found[name] = value.data
    return found


def _by_complex_step(
    compute: Compute, points: Arrays, directions: Arrays, rest: Arrays, seed: int
) -> dict[str, Estimate]:
    if any(array.dtype.kind == "c" for array in (*points.values(), *directions.values())):
        return {}
    height = first_step_size(points, directions)
    generator = stream(seed, "complex step")
    found: list[dict[str, np.ndarray]] = []
    for number, step in enumerate(STEPS):
        forward, moved = ForwardPass(complex_step=True), {}
        for name, array in points.items():
            here = array * (1.0 + number * generator.choice([-EPSILON, 0.0, EPSILON], array.shape))
            moved[name] = Perturbed(np.asarray(here + 1j * step * height * directions[name]), forward)
        found.append({name: value / (step * height) for name, value in _analytic_parts(compute(moved, forward), rest)})
    return {name: _analytic(found[0][name], found[1][name]) for name in found[0].keys() & found[1].keys()}


def _analytic_parts(computed: Mapping[str, Any], rest: Arrays) -> list[tuple[str, np.ndarray]]:
    found = []
    for name, value in _moved_arrays(computed).items():
        known = rest.get(name)
        if known is None or known.dtype.kind == "c" or value.shape != known.shape or value.dtype.kind != "c":
            continue
        near = np.abs(value.real - known) <= STRAY * largest_finite(known)
        if np.all(near & np.isfinite(value.imag)):
            found.append((name, np.asarray(value.imag)))
    return found


def _analytic(value: np.ndarray, again: np.ndarray) -> Estimate:
    error = MARGIN * np.abs(value - again) + 8.0 * EPSILON * np.abs(value)
    return Estimate(value, error, value, value, np.zeros(value.shape, dtype=bool), "complex step")


def _by_differences(
    compute: Compute, points: Arrays, directions: Arrays, rest: Arrays, detached: list[np.ndarray]
) -> dict[str, Estimate]:
    def at(t: float) -> np.ndarray:
        forward = ForwardPass(detached=detached)
        moved = {n: Perturbed(np.asarray(array + t * directions[n]), forward) for n, array in points.items()}
        known = _moved_arrays(compute(moved, forward))
        parts = [
            np.ravel(known[name]) if name in known else np.full(array.size, np.nan) for name, array in rest.items()
        ]
        return np.concatenate(parts)

    found = slopes(at, first_step_size(points, directions), _ROUNDINGS)
    tangents, start = {}, 0
    for name, array in rest.items():
        here = slice(start, start + array.size)
        parts = [one[here].reshape(array.shape) for one in (found.value, found.left, found.right)]
        value, left, right = parts if array.dtype.kind == "c" else [part.real for part in parts]
        error, kinked = found.error[here].reshape(array.shape), found.kinked[here].reshape(array.shape)
        tangents[name] = Estimate(value, error, left, right, kinked, "differences")
        start = here.stop
    return tangents


def first_step_size(points: Arrays, directions: Arrays) -> float:
    """Return a power of two that moves everything by at most an eighth."""
    ratios = []
    for name, array in points.items():
        reach = largest_finite(directions[name])
        size = float(np.median(np.abs(array))) if array.size else 0.0
        if reach:
            ratios.append((size if np.isfinite(size) and size > 0 else 1.0) / reach)
    return float(2.0 ** np.floor(np.log2(min(ratios, default=1.0) / 8.0)))
