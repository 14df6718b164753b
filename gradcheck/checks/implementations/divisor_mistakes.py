"""Name a factor that is a size over the sum of a mask, or the reverse.

A mean over the elements that a mask keeps is divided by its sum; a mean over all of them by a size.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from gradcheck.autograd.dtypes import wide
from gradcheck.checks.failures.correction.computed_formula import EvidenceAtPoints
from gradcheck.checks.failures.size_factor import SizeRatio, ratio_of
from gradcheck.checks.points.point import Point
from gradcheck.checks.result import Diagnosis
from gradcheck.facts import Fact, fact

#: The most elements of an array whose sum is tried; factors that need no mask.
_MOST_ELEMENTS = 100_000
_PLAIN = (2.0, 3.0, 4.0, 0.5, 0.25, 1.0)


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
