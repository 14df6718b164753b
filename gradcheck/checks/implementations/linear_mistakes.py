"""Mistakes of a rule as a linear map of its incoming gradient.

The map may be the Jacobian itself, not its transpose; or it may have a sum over the incoming gradient that is wrong.
It may have a size as a factor for the sum of a mask, or the reverse: a mean over the elements that a mask keeps is
divided by its sum; a mean over all of them by a size.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator
from dataclasses import replace

import numpy as np

from gradcheck.autograd.dtypes import largest_finite, wide
from gradcheck.checks.failures.correction.computed_formula import EvidenceAtPoints
from gradcheck.checks.failures.diagnosis.evidence import Evidence
from gradcheck.checks.failures.size_factor import SizeRatio, ratio_of
from gradcheck.checks.implementations import gradient_relations as relations
from gradcheck.checks.implementations.call_variants import with_gradients
from gradcheck.checks.implementations.gradient_relations import Relation
from gradcheck.checks.points.point import Point
from gradcheck.checks.result import Diagnosis
from gradcheck.engines.base import Engine
from gradcheck.facts import Fact, fact
from gradcheck.language.random_streams import stream

#: How many incoming gradients tell a sum, the fewest elements of one, and the next singular value.
_GRADIENTS, _FEWEST, _SMALL = 4, 2, 1e-6
#: The step of a directional difference, relative to the largest number.
_STEP = 2.0**-9
#: The most elements of an array whose sum is tried; factors that need no mask.
_MOST_ELEMENTS = 100_000
_PLAIN = (2.0, 3.0, 4.0, 0.5, 0.25, 1.0)


def linear_mistakes(name: str, engine: Engine, seen: EvidenceAtPoints) -> tuple[Diagnosis, ...]:
    """Return how the code's map of the incoming gradient differs."""

    def at(point: Point, evidence: Evidence, keys: frozenset[Hashable] | None) -> Iterator[Relation]:
        (seeds,) = point.problem.seeds
        seed = next(iter(seeds.values()))
        got, want = wide(evidence.got_or_zeros), wide(evidence.want)
        if len(seeds) != 1 or seed is None or not seed.shape == got.shape == want.shape or want.dtype.kind == "c":
            return
        if relations.are_close(got, want, evidence).all():  # an error of rounding's size is no pattern
            return
        product = _jacobian_product(name, point, seed)
        if product is not None and product.any() and relations.are_close(got, product, evidence).all():
            yield Relation("transposed", "jacobian", fact("jacobian_itself"))
        found = _errors(name, engine, point, seed)
        for dim in (*range(want.ndim), None):
            if found is not None and _is_one_sum(found, dim):
                text = "all elements" if dim is None else f"dim {dim}"
                yield Relation("one_term", text, fact("wrong_sum", dim=text))

    return relations.relation_at_all_points(seen, at)


def _jacobian_product(name: str, point: Point, seed: np.ndarray) -> np.ndarray | None:
    """Return the directional difference of the result along its gradient."""
    problem, found = with_gradients(point.problem, [name]), np.zeros(seed.shape)
    array = problem.inputs[name]
    step = _STEP * largest_finite(array) / max(largest_finite(seed), 1e-300)
    for by, weight in ((1, 8), (-1, -8), (2, -1), (-2, 1)):
        moved = (wide(array) + by * step * wide(seed)).astype(array.dtype)
        states = point.engines.reference.evaluate(replace(problem, inputs={**problem.inputs, name: moved})).states
        if not states:
            return None
        found = found + weight * wide(states[0].values[next(iter(problem.seeds[0]))])
    return found / (12 * step)


def _errors(name: str, engine: Engine, point: Point, seed: np.ndarray) -> np.ndarray | None:
    """Return errors for random incoming gradients, and those, stacked."""
    (root,) = point.problem.seeds[0]
    errors, incoming = [], []
    for number in range(_GRADIENTS):
        other = stream(point.problem.seed, "sum", number).standard_normal(seed.shape).astype(seed.dtype)
        there = with_gradients(replace(point.problem, seeds=({root: other},)), [name])
        states = [one.evaluate(there).states for one in (engine, point.engines.reference)]
        mine, right = (one[0].gradients.get(name) if one else None for one in states)
        if mine is None or right is None or not mine.shape == right.shape == other.shape:
            return None
        errors.append(wide(mine) - wide(right))
        incoming.append(wide(other))
    found = np.stack([errors, incoming])
    return found if np.isfinite(found).all() else None


def _is_one_sum(found: np.ndarray, dim: int | None) -> bool:
    """Return whether each error is a vector along a dim, times a sum."""
    table = found[:, :, None] if dim is None else np.moveaxis(found, dim + 2, -1)
    size = found[0, 0].size if dim is None else found.shape[dim + 2]
    errors, incoming = np.moveaxis(table.reshape(2, _GRADIENTS, -1, size), 2, 1)
    largest = float(np.max(np.abs(errors)))
    many = (np.abs(errors) > _SMALL * largest).any(1).sum(1) >= _FEWEST  # any one element is a multiple of a sum
    errors, incoming = errors[many], incoming[many]
    left, values, _ = np.linalg.svd(errors, full_matrices=False)
    along = np.einsum("rk,rkn->rn", left[:, :, 0], incoming) / np.linalg.norm(incoming, axis=1)
    is_element = np.abs(along).max(1) > 1 - _SMALL  # one incoming number alone is no sum
    return bool(many.any() and (values[:, 1] <= _SMALL * values[:, 0]).all() and not is_element.any())


def divisor_mistakes(seen: EvidenceAtPoints) -> tuple[Diagnosis, ...]:
    """Return the sum and the size that stand for each other at all points."""
    left: dict[str, Fact] | None = None
    ratios = []
    for point, evidence in seen:
        ratio = ratio_of(evidence.got_or_zeros, evidence.want, point.problem.sizes)
        if ratio is None or not math.isfinite(ratio.value):
            return ()
        if math.isclose(ratio.value, 1, rel_tol=ratio.near):
            continue  # where the mask keeps everything, nothing is wrong
        ratios.append(ratio.value)
        found = dict(_matching(point, ratio))
        left = found if left is None else {key: one for key, one in left.items() if key in found}
        if not left:
            return ()
    if not left or (len({*np.round(ratios, 9)}) == 1 and any(math.isclose(ratios[0], one) for one in _PLAIN)):
        return ()
    sure = "confirmed" if len({*np.round(ratios, 9)}) > 1 else "possible"
    what = next(iter(left.values()))
    points = fact("computed_at_points", points=len(seen))
    return (Diagnosis("factor", what if sure == "confirmed" else fact("perhaps", what=what), sure, points),)


def _matching(point: Point, ratio: SizeRatio) -> Iterator[tuple[str, Fact]]:
    """Yield divisors that explain the ratio, by text."""
    sizes = dict(_sizes(point))
    for total, value in _totals(point):
        near = {"rel_tol": ratio.near}
        for size, number in sizes.items():
            if math.isclose(ratio.value, value / number, **near):
                yield f"{total} {size}", fact("divided_by", got=size, want=total)
            if math.isclose(ratio.value, number / value, **near):
                yield f"{size} {total}", fact("divided_by", got=total, want=size)
        if math.isclose(ratio.value, value, **near):
            yield total, fact("not_divided_by", want=total)
        if math.isclose(ratio.value, 1 / value, **near):
            yield f"/ {total}", fact("divided_too_often", got=total)


def _totals(point: Point) -> Iterator[tuple[str, float]]:
    """Yield sums of arrays, and numbers of labels that are not negative."""
    for name, array in {**point.problem.inputs, **point.problem.constants}.items():
        if not 1 < array.size <= _MOST_ELEMENTS or array.dtype.kind == "c":
            continue
        labels = array.dtype.kind in "iu"
        value = float(np.sum(array >= 0 if labels else wide(array)))
        if value and value != array.size and math.isfinite(value):
            yield f"sum({name} >= 0)" if labels else f"sum({name})", value


def _sizes(point: Point) -> Iterator[tuple[str, int]]:
    """Yield the sizes of arrays, each number once."""
    known: set[int] = set()
    for name, array in {**point.problem.inputs, **point.problem.constants}.items():
        named = [(f"{name}.numel()", array.size), *((f"{name}.shape[{a}]", n) for a, n in enumerate(array.shape))]
        for text, number in named:
            if number > 1 and number not in known:
                known.add(number)
                yield text, number
