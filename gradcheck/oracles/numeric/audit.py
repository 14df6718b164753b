"""A claimed gradient against the numeric oracle: every element where that is affordable, else random directions.

A direction of random signs sees an error in any element; where it sees one, halving it again and again finds the
element. What it cannot see is told by its error bar: a bar wider than what is allowed proves nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from gradcheck.oracles.numeric.derivative import Estimate, Method, Numeric, directions

Status = Literal["passed", "failed", "undecided", "not_differentiable"]

#: Gradients of up to so many elements are computed in full.
FULL = {"complex step": 1024, "differences": 128}
#: How many directions stand for a larger one, and how many standard deviations of independent errors are allowed.
DIRECTIONS, _SIGMAS = 6, 4.0
#: A derivative known this well, relative to itself, is a number; an infinite or missing claim is then wrong.
_KNOWN = 1e-3


@dataclass(frozen=True, slots=True)
class Audit:
    """What came of it. `worst` is the flat index of the element that decides; `claimed` and `value` are there."""

    status: Status
    method: Method
    examined: int  # elements, or directions where `sampled`
    sampled: bool = False
    worst: int | None = None
    claimed: complex | float | None = None
    value: complex | float | None = None
    error: float | None = None  # the error bar there, absolute
    interval: tuple[float, float] | None = None  # of subgradients


def audit(numeric: Numeric, claimed: np.ndarray, allowed: np.ndarray) -> Audit:
    """Whether a gradient in double precision is right, give or take `allowed`, absolute, an element each."""
    flat, slack = claimed.ravel(), np.broadcast_to(allowed, claimed.shape).ravel()
    if not flat.size:
        return Audit("passed", numeric.method, 0)
    first = numeric.partials([0])
    if flat.size <= FULL[first.method]:
        return judge(numeric.partials(range(flat.size)), np.arange(flat.size), flat, slack)
    return _by_directions(numeric, flat, slack)


def judge(estimate: Estimate, indices: np.ndarray, claimed: np.ndarray, allowed: np.ndarray) -> Audit:
    """The verdict on the elements at `indices`, whose estimates these are: the worst element's."""
    flat, slack = claimed.ravel()[indices], np.broadcast_to(allowed, claimed.shape).ravel()[indices]
    wrong = refuted(estimate, flat, slack)
    unsure = ~wrong & ~estimate.kinked & ~(estimate.error <= slack)
    kinked = ~wrong & estimate.kinked
    status: Status = "passed"
    at = int(np.argmax(np.abs(flat - estimate.value)))
    choices: tuple[tuple[np.ndarray, Status], ...] = (
        (wrong, "failed"), (unsure, "undecided"), (kinked, "not_differentiable"),
    )  # fmt: skip
    for mask, name in choices:
        if np.any(mask):
            status = name
            at = int(np.flatnonzero(mask)[np.argmax(np.nan_to_num(np.abs(flat - estimate.value)[mask], nan=np.inf))])
            break
    interval = None
    if estimate.kinked[at] and not np.iscomplexobj(estimate.value):
        low, high = sorted((float(estimate.left[at]), float(estimate.right[at])))
        interval = (low, high)
    return Audit(
        status=status,
        method=estimate.method,
        examined=indices.size,
        worst=int(indices[at]),
        claimed=flat[at].item(),
        value=estimate.value[at].item(),
        error=float(estimate.error[at]),
        interval=interval,
    )


def refuted(estimate: Estimate, claimed: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """Where a claim is further from the derivative than what is allowed and the error bar together explain; at a
    kink, where it is outside of the interval between the one-sided derivatives."""
    with np.errstate(all="ignore"):
        far = np.abs(claimed - estimate.value) > allowed + estimate.error
        outside = ~within(estimate, claimed, allowed)
    missing = ~np.isfinite(claimed) & (estimate.error <= _KNOWN * np.abs(estimate.value))
    return np.where(estimate.kinked, outside, far | missing)


def within(estimate: Estimate, claimed: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """Where a claim lies between the one-sided derivatives; real and imaginary parts each on their own."""

    def between(part: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        room = allowed + 1e-9 * np.maximum(np.abs(left), np.abs(right))
        inside: np.ndarray = (part >= np.minimum(left, right) - room) & (part <= np.maximum(left, right) + room)
        return inside

    found = between(claimed.real, estimate.left.real, estimate.right.real)
    if np.iscomplexobj(estimate.value):
        found &= between(claimed.imag, estimate.left.imag, estimate.right.imag)
    return found


# Directions ----------------------------------------------------------------------------------------


def _by_directions(numeric: Numeric, claimed: np.ndarray, allowed: np.ndarray) -> Audit:
    unsure: Audit | None = None
    for direction in directions(numeric, DIRECTIONS):
        found = _along(numeric, direction.ravel(), claimed, allowed)
        if found.status == "failed":
            return _bisected(numeric, direction.ravel(), claimed, allowed)
        if found.status != "passed":
            unsure = found
    if unsure is not None:
        return unsure
    return Audit("passed", numeric.method, DIRECTIONS, sampled=True)


def _along(numeric: Numeric, direction: np.ndarray, claimed: np.ndarray, allowed: np.ndarray) -> Audit:
    """One direction; errors of elements are independent, so they add up as squares do."""
    estimate = numeric.along([direction.reshape(numeric.shape)])
    got = np.array([np.vdot(claimed, direction).real])
    slack = np.array([_SIGMAS * float(np.linalg.norm(np.abs(direction) * allowed))])
    found = judge(estimate, np.array([0]), got, slack)
    return Audit(found.status, found.method, DIRECTIONS, sampled=True, error=found.error)


def _bisected(numeric: Numeric, direction: np.ndarray, claimed: np.ndarray, allowed: np.ndarray) -> Audit:
    """The element at fault, where halving finds one; errors that cancel within halves leave it to the direction."""
    picked = np.flatnonzero(direction)
    while picked.size > 1:
        halves = np.array_split(picked, 2)
        for half in halves:
            part = np.zeros_like(direction)
            part[half] = direction[half]
            if _along(numeric, part, claimed, allowed).status == "failed":
                picked = half
                break
        else:
            return Audit("failed", numeric.method, DIRECTIONS, sampled=True)
    found = judge(numeric.partials(picked), picked, claimed, allowed)
    if found.status != "failed":
        return Audit("failed", numeric.method, DIRECTIONS, sampled=True)
    return found
