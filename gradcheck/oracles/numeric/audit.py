"""A claimed gradient against the numeric oracle: elements or directions.

A direction of random signs shows an error in any element; halving it repeatedly then finds the element. What a
direction cannot resolve is in its error bar: a bar wider than what is allowed proves nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from gradcheck.oracles.numeric.finite_differences import VAGUE, Estimate, Method
from gradcheck.oracles.numeric.numeric_gradient import NumericGradient

Status = Literal["passed", "failed", "undecided", "not_differentiable"]

#: The most elements of a gradient that is computed in full.
MAX_FULL_ELEMENTS = {"complex step": 1024, "differences": 128}
#: The number of directions for a larger one, and the allowed standard deviations.
DIRECTIONS, _SIGMAS = 6, 4.0


@dataclass(frozen=True, slots=True)
class Audit:
    """The result; `worst` is the flat index of the deciding element."""

    status: Status
    method: Method
    examined: int  # elements, or directions where `sampled`
    sampled: bool = False
    worst: int | None = None
    claimed: complex | float | None = None
    value: complex | float | None = None
    error: float | None = None  # the error bar there, absolute
    interval: tuple[float, float] | None = None  # of subgradients


def audit(gradient: NumericGradient, claimed: np.ndarray, allowed: np.ndarray) -> Audit:
    """Return whether a gradient in double precision is right within `allowed`.

    `allowed` is absolute, by element. Raises GradcheckError if the forward cannot be evaluated.
    """
    flat, slack = claimed.ravel(), np.broadcast_to(allowed, claimed.shape).ravel()
    if not flat.size:
        return Audit("passed", gradient.method, 0)
    first = gradient.partials([0])
    if flat.size <= MAX_FULL_ELEMENTS[first.method]:
        return _audit_elements(gradient, np.arange(flat.size), flat, slack)
    return _audit_directions(gradient, flat, slack)


def is_refuted(estimate: Estimate, claimed: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """Return where a claim is off by more than `allowed` and the error bar."""
    # at a kink: outside of the interval between the one-sided derivatives
    with np.errstate(all="ignore"):
        far = np.abs(claimed - estimate.value) > allowed + estimate.error
        outside = ~is_between_sides(estimate, claimed, allowed)
    missing = ~np.isfinite(claimed) & (estimate.error <= VAGUE * np.abs(estimate.value))
    return np.where(estimate.kinked, outside, far | missing)


def is_between_sides(estimate: Estimate, claimed: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """Return where a claim is between the one-sided derivatives."""

    def between(part: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        room = allowed + 1e-9 * np.maximum(np.abs(left), np.abs(right))
        inside: np.ndarray = (part >= np.minimum(left, right) - room) & (part <= np.maximum(left, right) + room)
        return inside

    found = between(claimed.real, estimate.left.real, estimate.right.real)
    if np.iscomplexobj(estimate.value):
        found &= between(claimed.imag, estimate.left.imag, estimate.right.imag)
    return found


def _audit_elements(gradient: NumericGradient, indices: np.ndarray, claimed: np.ndarray, allowed: np.ndarray) -> Audit:
    estimate, flat, slack = gradient.partials(indices.tolist()), claimed[indices], allowed[indices]
    status, at = _worst(estimate, flat, slack)
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


def _worst(estimate: Estimate, claimed: np.ndarray, allowed: np.ndarray) -> tuple[Status, int]:
    """Return the gravest status, and the element that is furthest off in it.

    A method resolves all elements alike, the small ones no better than the large: it decides them if its bar is shorter
    than what is allowed of the largest.
    """
    wrong = is_refuted(estimate, claimed, allowed)
    unchanged = (claimed == 0) & (estimate.value == 0)  # a zero has no tolerance, and no bar is that short
    known = estimate.error <= np.max(allowed, where=np.isfinite(allowed), initial=0.0)
    unsure = ~wrong & ~estimate.kinked & ~known & ~unchanged
    masks: dict[Status, np.ndarray] = {
        "failed": wrong,
        "undecided": unsure,
        "not_differentiable": ~wrong & estimate.kinked,
    }
    gap = np.abs(claimed - estimate.value)
    for status, mask in masks.items():
        if np.any(mask):
            return status, int(np.argmax(np.where(mask, np.nan_to_num(gap, nan=np.inf), -1.0)))
    return "passed", int(np.argmax(gap))


def _audit_directions(gradient: NumericGradient, claimed: np.ndarray, allowed: np.ndarray) -> Audit:
    unsure: Audit | None = None
    for direction in gradient.random_directions(DIRECTIONS):
        found = _audit_direction(gradient, direction.ravel(), claimed, allowed)
        if found.status == "failed":
            return _bisected(gradient, direction.ravel(), claimed, allowed)
        if found.status != "passed":
            unsure = found
    return unsure or Audit("passed", gradient.method, DIRECTIONS, sampled=True)


def _audit_direction(
    gradient: NumericGradient, direction: np.ndarray, claimed: np.ndarray, allowed: np.ndarray
) -> Audit:
    """Audit one direction; independent errors add up as squares do."""
    estimate = gradient.along([direction.reshape(gradient.shape)])
    got = np.array([np.vdot(claimed, direction).real])
    slack = np.array([_SIGMAS * float(np.linalg.norm(np.abs(direction) * allowed))])
    status, _ = _worst(estimate, got, slack)
    return Audit(status, estimate.method, DIRECTIONS, sampled=True, error=float(estimate.error[0]))


def _bisected(gradient: NumericGradient, direction: np.ndarray, claimed: np.ndarray, allowed: np.ndarray) -> Audit:
    """Return the wrong element by bisection; the direction if errors cancel."""

    def is_wrong(half: np.ndarray) -> bool:
        part = np.zeros_like(direction)
        part[half] = direction[half]
        return _audit_direction(gradient, part, claimed, allowed).status == "failed"

    told = Audit("failed", gradient.method, DIRECTIONS, sampled=True)
    picked = np.flatnonzero(direction)
    while picked.size > 1:
        wrong = next(filter(is_wrong, np.array_split(picked, 2)), None)
        if wrong is None:
            return told
        picked = wrong
    found = _audit_elements(gradient, picked, claimed, allowed)
    return found if found.status == "failed" else told
