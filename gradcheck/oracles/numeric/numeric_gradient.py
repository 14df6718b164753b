"""Gradients by the numeric oracle, and claimed ones against them.

A direction of random signs shows an error in any element; halving it repeatedly then finds the element. What a
direction cannot resolve is in its error bar: a bar wider than what is allowed proves nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Literal

import numpy as np

from gradcheck.errors import GradcheckError, Unsupported
from gradcheck.facts import Fact, fact
from gradcheck.language.problem import Problem
from gradcheck.language.random_streams import stream
from gradcheck.oracles.numeric.directional_derivative import DirectionalDerivative
from gradcheck.oracles.numeric.finite_differences import VAGUE, Estimate, Method, Slope
from gradcheck.oracles.numeric.objective import Objective, TensorObjective, backward_passes
from gradcheck.oracles.numeric.work_budget import WorkBudget

#: The relative difference of two claims that are close, and the most elements that are computed in high precision.
_CLOSE, _MOST_PRECISE = 1e-2, 5_000
_MOST_BESIDE, _MISSED = 400, 1e-2  # elements that are computed so beside differences, and how far those may be off


@dataclass(slots=True)
class NumericGradient:
    """The gradient of a sum of objectives of one tensor."""

    objectives: Sequence[Objective]
    seed: int = 0
    method: Method = "complex step"
    no_complex_step_reason: Fact | None = None
    _derivatives: list[DirectionalDerivative] = field(init=False)

    def __post_init__(self) -> None:
        listed = enumerate(self.objectives)
        self._derivatives = [DirectionalDerivative(objective, self.seed + index) for index, objective in listed]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.objectives[0].point.shape

    @property
    def dtype(self) -> np.dtype:
        """float64 or complex128."""
        return self.objectives[0].point.dtype

    def partials(self, indices: Iterable[int], budget: WorkBudget | None = None) -> Estimate:
        """Return the elements at flat indices; one at least, as the budget allows."""
        real: list[Slope] = []
        imaginary: list[Slope] = []
        for index in indices:
            if budget is not None and budget.is_spent and real:
                break
            real.append(self._slope_along(self._unit(index, 1.0)))
            if self.dtype.kind == "c":
                imaginary.append(self._slope_along(self._unit(index, 1j)))
            if budget is not None:
                budget.spend(sum(one.cost(self.method) for one in self._derivatives))
        return self._estimate(real, imaginary)

    def deciding_partials(
        self, indices: Sequence[int], one: np.ndarray, other: np.ndarray, budget: WorkBudget | None = None
    ) -> Estimate:
        """Return the elements at flat indices, about which two claims differ.

        Where the claims are close, in high precision if all ops have such a forward: no error bar of double precision
        has the roundings inside the forward. A few elements also if differences miss all, as of an oscillation."""
        is_close = np.all(np.abs(one - other) <= _CLOSE * np.abs(other))
        precise = self.precise_partials(indices, _MOST_PRECISE) if is_close else None
        if precise is not None:
            return precise
        found = self.partials(indices, budget)
        if found.method == "differences" and not found.kinked.any():
            precise = self.precise_partials(indices[: found.value.size], _MOST_BESIDE)
            if precise is not None and np.any(np.abs(precise.value - found.value) > _MISSED * np.abs(precise.value)):
                return precise
        return found

    def precise_partials(self, indices: Sequence[int], most: int) -> Estimate | None:
        """Return elements in high precision; None if unknown, or too much work."""
        if len(indices) * sum(each.elements for each in self._derivatives) > most:
            return None
        try:
            slopes = [_sum([each.precise(self._unit(i, 1.0)) for each in self._derivatives]) for i in indices]
        except GradcheckError:
            return None
        return replace(self._estimate(slopes, []), method="high precision")

    def one_sided(self, index: int, number: complex = 1.0) -> tuple[float, float]:
        """Return an element's derivatives from both sides, NaN without one.

        Along 1j they are those by its imaginary part."""
        direction = self._unit(index, number)
        left, right = zip(*(one.one_sided(direction) for one in self._derivatives), strict=True)
        return sum(left), sum(right)

    def along(self, directions: Iterable[np.ndarray]) -> Estimate:
        """Return derivatives: the real part of `<gradient, direction>` for each."""
        return self._estimate([self._slope_along(direction) for direction in directions], [])

    def random_directions(self, count: int) -> Iterator[np.ndarray]:
        """Yield random signs for every element, scaled to a length of about 1."""
        generator = stream(self.seed, "directions")
        length = 2.0 ** -round(np.log2(max(1, prod(self.shape))) / 2)  # a power of two, so that steps are exact
        for _ in range(count):
            signs = generator.choice([-1.0, 1.0], self.shape)
            if self.dtype.kind == "c":
                signs = signs + 1j * generator.choice([-1.0, 1.0], self.shape)
            yield length * signs

    def _unit(self, index: int, number: complex) -> np.ndarray:
        direction = np.zeros(self.shape, dtype=type(number))
        direction.flat[index] = number
        return direction

    def _slope_along(self, direction: np.ndarray) -> Slope:
        """Return the slope by a complex step, until that fails once."""
        if self.method == "complex step":
            try:
                return _sum([one.complex_step(direction) for one in self._derivatives])
            except GradcheckError as error:
                self.method, self.no_complex_step_reason = "differences", fact("no_complex_step", message=error.message)
        return _sum([one.differences(direction) for one in self._derivatives])

    def _estimate(self, real: list[Slope], imaginary: list[Slope]) -> Estimate:
        def gathered(number: Callable[[Slope], float]) -> np.ndarray:
            found = np.array([number(one) for one in real], dtype=np.float64)
            return found + 1j * np.array([number(one) for one in imaginary]) if imaginary else found

        error = np.array([one.error for one in real])
        kinked = np.array([one.kinked for one in real], dtype=bool)
        if imaginary:
            error = np.hypot(error, [one.error for one in imaginary])
            kinked |= [one.kinked for one in imaginary]
        return Estimate(
            value=gathered(lambda s: s.value),
            error=error,
            left=gathered(lambda s: s.sides[0]),
            right=gathered(lambda s: s.sides[1]),
            kinked=kinked,
            method=self.method,
            no_complex_step_reason=self.no_complex_step_reason,
        )


def numeric_gradient(problem: Problem, tensor: str, step: int) -> NumericGradient:
    """Return the gradient of a tensor after a step. Raises GradcheckError."""
    found = [TensorObjective(problem, tensor, backward) for backward in backward_passes(problem, tensor, step)]
    if not found:
        raise Unsupported(f"no backward pass has reached {tensor}")
    return NumericGradient(found, problem.seed)


def _sum(slopes: Sequence[Slope]) -> Slope:
    """Return the slope of a sum; smooth parts have equal sides."""
    value, error = sum(s.value for s in slopes), sum(s.error for s in slopes)
    if not any(s.kinked for s in slopes):
        return Slope(value, error)
    left, right = (sum(side) for side in zip(*(s.sides for s in slopes), strict=True))
    return Slope(value, error, left, right)


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
