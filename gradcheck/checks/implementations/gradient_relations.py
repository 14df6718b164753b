"""Relations between wrong and right numbers of a gradient.

If no known mistake explains them: the same numbers at other places, a part that is right, or a factor from some
tensor of the entry. A relation counts only if it holds at every point.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from gradcheck.autograd.dtypes import wide
from gradcheck.autograd.modes import quiet, using_default_dtype
from gradcheck.checks.failures.correction.computed_formula import EvidenceAtPoints
from gradcheck.checks.failures.diagnosis.catalogue import matches
from gradcheck.checks.failures.diagnosis.evidence import Evidence
from gradcheck.checks.implementations.tape_factors import factors_on_tape
from gradcheck.checks.points.point import Point
from gradcheck.checks.result import Diagnosis
from gradcheck.facts import Fact, fact

#: Fewer distinct numbers occur at other places by chance.
_FEWEST = 4
#: Shifts along an axis, and the digits in which factors must agree.
_SHIFTS, _DIGITS = (-2, -1, 0, 1, 2), 5
#: The longest axis that is compared slice by slice.
_LONGEST = 32
#: How far gradients move between numbers that tie and others beside them.
_NEARBY = 0.05


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation that holds at a point, with a key that is equal at all."""

    kind: str
    key: Hashable
    what: Fact


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
    """Yield shifts along the last axes that match where both overlap."""
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
