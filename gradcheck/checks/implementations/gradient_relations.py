"""Relations between wrong and right numbers of a gradient.

If no known mistake explains them: the same numbers at other places, a part that is right, or a factor from some
tensor of the entry. A rule is a linear map of its incoming gradient: it may be the Jacobian itself, have a wrong sum,
or a size as a factor for the sum of a mask, or the reverse. A relation counts only if it holds at every point.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import replace
from itertools import product

import numpy as np

from gradcheck.autograd.dtypes import largest_finite, wide
from gradcheck.autograd.modes import quiet, using_default_dtype
from gradcheck.checks.failures.correction.computed_formula import EvidenceAtPoints
from gradcheck.checks.failures.diagnosis.catalogue import Evidence, matches
from gradcheck.checks.failures.size_factor import SizeRatio, ratio_of
from gradcheck.checks.implementations.call_variants import with_gradients
from gradcheck.checks.implementations.op_mistakes import Relation
from gradcheck.checks.implementations.tape_factors import factors_on_tape
from gradcheck.checks.points.point import Point
from gradcheck.checks.result import Diagnosis
from gradcheck.engines.base import Engine
from gradcheck.facts import Fact, fact
from gradcheck.language.random_streams import stream

#: Fewer distinct numbers occur at other places by chance.
_FEWEST = 4
#: Shifts along an axis, and the digits in which factors must agree.
_SHIFTS, _DIGITS = (-2, -1, 0, 1, 2), 5
#: The longest axis that is compared slice by slice.
_LONGEST = 32
#: How far gradients move between numbers that tie and others beside them.
_NEARBY = 0.05
#: How many incoming gradients tell a sum, the fewest elements of one, and the next singular value.
_GRADIENTS, _FEWEST_ELEMENTS, _SMALL = 4, 2, 1e-6
#: The step of a directional difference, relative to the largest number.
_STEP = 2.0**-9
#: The most elements of an array whose sum is tried; factors that need no mask.
_MOST_ELEMENTS = 100_000
_PLAIN = (2.0, 3.0, 4.0, 0.5, 0.25, 1.0)


def relation_at_all_points(
    seen: EvidenceAtPoints, at: Callable[[Point, Evidence, frozenset[Hashable] | None], Iterable[Relation]]
) -> tuple[Diagnosis, ...]:
    """Return the first relation of `at` that holds at every differing point."""
    left: dict[Hashable, Relation] | None = None
    differing = [(point, evidence) for point, evidence in seen if not matches(evidence.want, evidence)]
    for point, evidence in differing:
        with using_default_dtype(point.problem.dtype), quiet(), np.errstate(all="ignore"):
            keys = None if left is None else frozenset(left)
            found = {one.key: one for one in at(point, evidence, keys)}
        left = found if left is None else {key: one for key, one in left.items() if key in found}
        if not left:
            return ()
    if not left or len(differing) < 2:
        return ()
    first = next(iter(left.values()))
    return (Diagnosis(first.kind, first.what, "possible", fact("computed_at_points", points=len(differing))),)


def find_relations(name: str, seen: EvidenceAtPoints) -> tuple[Diagnosis, ...]:
    """Return the relations of a gradient's numbers."""

    def at(point: Point, evidence: Evidence, keys: frozenset[Hashable] | None) -> Iterator[Relation]:
        got, want = wide(evidence.got_or_zeros), wide(evidence.want)
        if got.shape != want.shape:
            yield from _cropped(got, want, evidence)
            return
        right = are_close(got, want, evidence)
        if right.all():  # an error of rounding's size is no pattern
            return
        yield from _moved_elements(got, want, evidence)
        yield from _partly_right(got, want, right)
        for key, factor in factors_on_tape(name, point, got, want, right):
            yield Relation("factor_of_tensor", key, fact("comes_with_factor", factor=factor))
        yield from _wrong_slices(right, want != 0)

    return relation_at_all_points(seen, at)


def whole_to_each_of_equals(got: np.ndarray, beside: np.ndarray) -> tuple[Diagnosis, ...]:
    """Return whether equal numbers each get a gradient that they share.

    got     the gradient where numbers tie
    beside  the same code's gradients nearby, where they do not, stacked"""
    is_same = np.abs(wide(beside) - wide(got)) <= _NEARBY * np.abs(wide(got))
    is_nothing = np.abs(wide(beside)) <= 1e-9 * float(np.max(np.abs(got), initial=0.0))
    chosen = ~is_same.all(0)  # among equal numbers, by some moves alone
    if not (chosen & is_same.any(0)).any() or not ((is_same | is_nothing).all(0) & (got != 0))[chosen].all():
        return ()
    return (Diagnosis("branch", fact("whole_to_each_of_equals"), "confirmed"),)


def are_close(one: np.ndarray, other: np.ndarray, evidence: Evidence) -> np.ndarray:
    """Return which elements are equal up to rounding."""
    coarse = 1e-7 if evidence.want.dtype == np.float64 else 5e-2 if evidence.want.dtype.itemsize == 2 else 1e-4
    size = float(np.max(np.abs(other), initial=0.0))
    found: np.ndarray = np.abs(one - other) <= coarse * np.abs(other) + 1e-5 * coarse * size
    return found


def _moved_elements(got: np.ndarray, want: np.ndarray, evidence: Evidence) -> Iterator[Relation]:
    if np.unique(want).size < _FEWEST:
        return
    for axis in range(want.ndim):
        if 1 < want.shape[axis] <= _LONGEST and _are_slices_exchanged(got, want, axis, evidence):
            yield Relation("reshaped", ("slices", axis), fact("slices_elsewhere", dim=axis))
    yield from _shifted(got, want, evidence)
    if are_close(np.sort(got.ravel()), np.sort(want.ravel()), evidence).all():
        yield Relation("reshaped", ("places",), fact("numbers_elsewhere"))


def _are_slices_exchanged(got: np.ndarray, want: np.ndarray, axis: int, evidence: Evidence) -> bool:
    """Return whether the slices along an axis are permuted."""
    mine, right = np.moveaxis(got, axis, 0), np.moveaxis(want, axis, 0)
    left = list(range(len(right)))
    for one in mine:
        place = next((i for i in left if are_close(one, right[i], evidence).all()), None)
        if place is None:
            return False
        left.remove(place)
    return True


def _shifted(got: np.ndarray, want: np.ndarray, evidence: Evidence) -> Iterator[Relation]:
    axes = range(max(0, want.ndim - 2), want.ndim)
    for shifts in product(_SHIFTS, repeat=len(axes)):
        if not any(shifts):
            continue
        mine, right = [slice(None)] * want.ndim, [slice(None)] * want.ndim
        for axis, by in zip(axes, shifts, strict=True):
            size = want.shape[axis]
            mine[axis], right[axis] = slice(max(0, -by), size - max(0, by)), slice(max(0, by), size - max(0, -by))
        one, other = got[tuple(mine)], want[tuple(right)]
        if np.unique(other).size >= _FEWEST and 4 * other.size > want.size and are_close(one, other, evidence).all():
            yield Relation("off_by_one", ("shifted", shifts), fact("moved_along", by=shifts))


def _cropped(got: np.ndarray, want: np.ndarray, evidence: Evidence) -> Iterator[Relation]:
    if got.ndim != want.ndim or any(a < b for a, b in zip(got.shape, want.shape, strict=True)):
        return
    more = [a - b for a, b in zip(got.shape, want.shape, strict=True)]
    for where, starts in (("middle", [m // 2 for m in more]), ("start", [0] * len(more)), ("end", more)):
        part = got[tuple(slice(s, s + size) for s, size in zip(starts, want.shape, strict=True))]
        if are_close(part, want, evidence).all():
            yield Relation("reshaped", ("cropped", where), fact("cut_out_of", where=where))


def _wrong_slices(right: np.ndarray, matter: np.ndarray) -> Iterator[Relation]:
    """Yield axes with slices that are wrong throughout; the others are right."""
    for axis, size in enumerate(right.shape):
        agree = np.moveaxis(right, axis, 0).reshape(size, -1)
        counts = np.moveaxis(matter, axis, 0).reshape(size, -1)
        places = tuple(np.flatnonzero(~agree.all(1)).tolist())
        if not places or (agree & counts)[list(places)].any() or not (agree & counts).any():
            continue
        if size > len(places) + 1 and places in ((0,), (size - 1,), (0, size - 1)):
            yield Relation("branch", ("border", axis), fact("wrong_border", dim=axis))
        elif right.ndim > 1 or len(places) > 2 == places[1] - places[0] + 1:
            yield Relation("branch", ("slices", axis, places), fact("wrong_slices", places=places, dim=axis))


def _partly_right(got: np.ndarray, want: np.ndarray, right: np.ndarray) -> Iterator[Relation]:
    wrong = ~right
    some = bool((right & (want != 0)).any())
    if not wrong.any():
        return
    mine, theirs = got[wrong], want[wrong]
    if some and not mine.any():
        yield Relation("branch", ("nothing",), fact("nothing_in_a_part"))
    elif some and not theirs.any():
        yield Relation("branch", ("too much",), fact("not_stopped_in_a_part"))
    elif want.any() and not np.any(got[want != 0]) and (want == 0).any():
        yield Relation("branch", ("other",), fact("on_the_other_side"))
    elif theirs.all():
        ratios = mine / theirs
        factor = float(ratios.flat[0].real)
        if np.allclose(ratios, factor, rtol=10.0**-_DIGITS) and some:
            rounded = float(f"{factor:.{_DIGITS}g}")
            if rounded == -1:
                yield Relation("sign", ("signs",), fact("signs_in_a_part"))
            elif rounded != 1:
                yield Relation("branch", ("factor", rounded), fact("factor_in_a_part", factor=rounded))


def linear_mistakes(name: str, engine: Engine, seen: EvidenceAtPoints) -> tuple[Diagnosis, ...]:
    """Return how the code's map of the incoming gradient differs."""

    def at(point: Point, evidence: Evidence, keys: frozenset[Hashable] | None) -> Iterator[Relation]:
        (seeds,) = point.problem.seeds
        seed = next(iter(seeds.values()))
        got, want = wide(evidence.got_or_zeros), wide(evidence.want)
        if len(seeds) != 1 or seed is None or not seed.shape == got.shape == want.shape:
            return
        if are_close(got, want, evidence).all():  # an error of rounding's size is no pattern
            return
        product = _jacobian_product(name, point, seed)
        if product is not None and product.any() and are_close(got, product, evidence).all():
            adjoint = "conjugate transpose" if want.dtype.kind == "c" else "transpose"
            yield Relation("transposed", "jacobian", fact("jacobian_itself", adjoint=adjoint))
        found = _errors(name, engine, point, seed) if want.dtype.kind != "c" else None
        for dim in (*range(want.ndim), None):
            if found is not None and _is_one_sum(found, dim):
                text = "all elements" if dim is None else f"dim {dim}"
                yield Relation("one_term", text, fact("wrong_sum", dim=text))

    return relation_at_all_points(seen, at)


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
    # any one element is a multiple of a sum
    many = (np.abs(errors) > _SMALL * largest).any(1).sum(1) >= _FEWEST_ELEMENTS
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
    known: set[int] = set()
    for name, array in {**point.problem.inputs, **point.problem.constants}.items():
        named = [(f"{name}.numel()", array.size), *((f"{name}.shape[{a}]", n) for a, n in enumerate(array.shape))]
        for text, number in named:
            if number > 1 and number not in known:
                known.add(number)
                yield text, number
