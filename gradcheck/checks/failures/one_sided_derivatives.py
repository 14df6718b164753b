"""Kinks element by element, by one-sided derivatives of the forward.

Used if no gradients nearby are known, the function jumps, or a file states one convention. Every value between the
one-sided derivatives along an element is a subgradient's (Rockafellar, Convex Analysis, 23).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from gradcheck.checks.closeness.agreement import Allowance, Answer
from gradcheck.checks.failures.kink_conventions import CONVENTION_CLAIMS, as_convention, kink_fact, undecided
from gradcheck.checks.result import Comparison
from gradcheck.facts import fact
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.oracles.numeric.finite_differences import Estimate
from gradcheck.oracles.numeric.numeric_gradient import is_between_sides


def classify_at_kink(
    comparison: Comparison, answers: tuple[Answer, Answer], estimate: Estimate, allowance: Allowance, all_seen: bool
) -> Comparison | None:
    """Return a failed comparison classified at its kinks; None without any.

    Args:
            answers: of both sides, at the elements of `estimate`.
            all_seen: whether these are all elements that differ.
    """
    if not np.any(estimate.kinked):
        return None
    got, want = answers
    leaps = estimate.kinked & (np.isinf(estimate.left) | np.isinf(estimate.right))  # the function itself jumps
    if comparison.what is ClaimKind.FORMULA and np.any(leaps & np.isfinite(want.values)):
        return None  # the gradients around it are those of the reference, whatever the function does
    allowed = allowance.around(got.values, want.values)
    for one in answers:
        outside = ~is_between_sides(estimate, one.values, allowed) & estimate.kinked
        if np.any(outside):
            at = int(np.flatnonzero(outside)[0])
            value, (low, high) = as_number(one.values[at]), _interval(estimate, at)
            outside_of = fact("outside_subgradients", name=one.name, value=value, low=low, high=high)
            return replace(comparison, verdict=outside_of)
    if not np.all(estimate.kinked):
        return None
    if not all_seen:
        return undecided(comparison) if comparison.what in CONVENTION_CLAIMS else None
    sides = [(one.name, as_number(one.values[0])) for one in answers]
    kink = kink_fact(_interval(estimate, 0), sides, jumps=bool(np.isinf(estimate.right[0])))
    if comparison.what not in CONVENTION_CLAIMS:
        return replace(comparison, verdict=fact("another_convention", kink=kink))
    interval = sorted((float(estimate.left[0].real), float(estimate.right[0].real)))
    return as_convention(comparison, kink, estimate.method, interval)


def _interval(estimate: Estimate, at: int) -> tuple[float | complex, float | complex]:
    """Return both one-sided derivatives, the lower first."""
    low, high = sorted((estimate.left[at], estimate.right[at]), key=lambda number: (number.real, number.imag))
    return as_number(low), as_number(high)


def as_number(value: Any) -> float | complex:
    number = complex(value)
    return number if number.imag else number.real
