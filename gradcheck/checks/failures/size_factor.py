"""The factor by which a formula is off, in sizes: `n / m`, `sqrt(d)`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import NamedTuple

import numpy as np

from gradcheck.autograd.dtypes import largest_finite, real_of, wide
from gradcheck.checks.claims.stated_claims import StepClaims, align_dtypes
from gradcheck.checks.closeness.compare import DERIVATION
from gradcheck.checks.result import Diagnosis
from gradcheck.errors import GradcheckError
from gradcheck.facts import Fact, fact
from gradcheck.language.case import Claim

#: The powers of sizes, how many sizes, and the numbers that a factor is made of.
_POWERS, _MOST_SIZES = (0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0), 3
_NUMBERS = (1.0, 2.0, 0.5, 3.0, 1 / 3, 4.0, 0.25)
_TRIED = ("factor",)


class SizeRatio(NamedTuple):
    """The factor by which a formula is off at one point, and the sizes there."""

    sizes: Mapping[str, int]
    value: float
    near: float


def express_in_sizes(diagnoses: Sequence[Diagnosis], ratios: Sequence[SizeRatio]) -> tuple[Diagnosis, ...]:
    """Return the diagnoses of an array, with factors in sizes, or as unknown."""
    if len({tuple(ratio.sizes.items()) for ratio in ratios if ratio.value}) < 2:
        return tuple(diagnoses)  # no other sizes
    off = any(math.isnan(ratio.value) for ratio in ratios)
    if not off and all(_alike(ratio.value, ratios[0]) for ratio in ratios):
        return tuple(replace(d, message=_plain(d.message, ratios[0].value)) for d in diagnoses)
    if off:
        left = tuple(d for d in diagnoses if d.kind != "factor")
    else:  # one number at each size: any other explanation is a coincidence
        found = _fit_powers(ratios)
        left = tuple(d for d in diagnoses if d.kind == "mean_for_sum")
        left += (Diagnosis("factor", found, "confirmed"),) if found and not left else ()
    return left or (Diagnosis("unknown", fact("nothing_explains_it", tried=_TRIED), tried=_TRIED),)


def _plain(message: Fact, value: float) -> Fact:
    """Return a factor that is a count at these sizes alone as a number."""
    if message.kind != "off_by_count":
        return message
    size, minus = abs(value), "-" if value < 0 else ""
    text = f"{size:.7g}" if size >= 1 else f"1/{1 / size:.7g}"
    return fact("off_by_factor", factor=minus + text)


def ratios_at(points: Sequence[StepClaims], name: str, claim: Claim) -> Iterator[SizeRatio]:
    """Yield a formula's ratio at each point; NaN if no one number explains it."""
    for claims in points:
        try:
            got, want = align_dtypes(claims.scope.array_of(claim.expr), claims.scope.gradients[name])
        except (GradcheckError, KeyError):
            continue
        found = ratio_of(got, want, claims.point.problem.sizes)
        if found is not None:
            yield found


def ratio_of(got: np.ndarray, want: np.ndarray, sizes: Mapping[str, int]) -> SizeRatio | None:
    """Return the ratio of two arrays at these sizes; None if undefined."""
    if got.shape != want.shape or got.dtype.kind == "c" or not (np.isfinite(got) & np.isfinite(want)).all():
        return None
    near = DERIVATION[real_of(want.dtype).itemsize]
    ours, theirs = wide(got).ravel(), wide(want).ravel()
    square = float(theirs @ theirs)
    if not square > 0:
        return None
    value = float(ours @ theirs) / square
    is_off = np.any(np.abs(ours - value * theirs) > near * largest_finite(theirs) * max(1.0, abs(value)))
    return SizeRatio(sizes, math.nan if is_off else value, near)


def _alike(value: float, ratio: SizeRatio) -> bool:
    return math.isclose(value, ratio.value, rel_tol=ratio.near)


def _fit_powers(ratios: Sequence[SizeRatio]) -> Fact | None:
    """Return the simplest product of powers of sizes that fits everywhere."""
    first = ratios[0]
    words = [word for word in first.sizes if len({ratio.sizes[word] for ratio in ratios}) > 1]
    for powers in _powers(min(len(words), _MOST_SIZES)):
        chosen = [(word, power) for word, power in zip(words, powers, strict=False) if power]
        for number in _NUMBERS:
            for sign in (1, -1):
                if all(_alike(sign * number * _value(chosen, ratio.sizes), ratio) for ratio in ratios):
                    return fact("off_by_sizes", number=sign * number, powers=tuple(chosen))
    return None


def _powers(count: int) -> list[tuple[float, ...]]:
    """Return exponents: few sizes first, whole powers before others."""
    order = {power: place for place, power in enumerate(_POWERS)}
    return sorted(product(_POWERS, repeat=count), key=lambda p: (sum(map(bool, p)), sum(order[x] for x in p)))


def _value(powers: Sequence[tuple[str, float]], sizes: Mapping[str, int]) -> float:
    return float(math.prod(float(sizes[word]) ** power for word, power in powers))
