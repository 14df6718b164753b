"""One gradient of code that says nothing of what it computes: held to differences of the forward, with error bars, and
to what torch makes of the forward.

A difference that is well known decides, once differences by other steps say the same; where it is blurred, the forward
does. At a kink whatever lies between the two sides is right; along several elements at once a kink decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from gradcheck.autograd.dtypes import wide
from gradcheck.checks.claim_kind import ClaimKind
from gradcheck.checks.closeness.compare import compare
from gradcheck.checks.closeness.tolerance import base, epsilon
from gradcheck.checks.implementations.own_noise import OwnNoise
from gradcheck.checks.points import Point
from gradcheck.checks.result import Comparison, Subject
from gradcheck.errors import GradcheckError
from gradcheck.facts import fact
from gradcheck.language.random import stream
from gradcheck.oracles.numeric.differences import Slope, slope

if TYPE_CHECKING:
    from gradcheck.engines.implementation.engine import Implementation

#: Differences are taken for so many elements of each input, and along so many directions.
_ELEMENTS, _DIRECTIONS = 12, 2
#: A difference whose error bar is a larger part of the largest gradient decides nothing.
_BLURRED = 1e-4
#: How many of its own error bars a right gradient may be away.
_BARS = 8.0
#: Differences that contradict the code are taken again from so much smaller steps on.
_FINER = (2.0**-7, 2.0**-20)
DIFFERENCES, FORWARD = "differences", "its own forward"


@dataclass(frozen=True, slots=True)
class OwnGradient:
    """One input's gradient at a point, as the code has it; `noise` says what rounding may make of it."""

    point: Point
    engine: Implementation
    name: str
    gradient: np.ndarray | None
    noise: OwnNoise

    @property
    def array(self) -> np.ndarray:
        """The input itself."""
        return self.point.problem.inputs[self.name]

    @property
    def values(self) -> np.ndarray | None:
        """In double precision; zeros where there is none, None where its shape is wrong."""
        if self.gradient is None:
            return np.zeros(self.array.shape)
        return wide(self.gradient) if self.gradient.shape == self.array.shape else None

    def subject(self, reference: str) -> Subject:
        """What is claimed, against whom."""
        engine, trial = self.engine.name, self.point.trial
        return Subject(ClaimKind.GRADIENT, self.name, 0, engine, reference, trial=trial)

    def slope(self, direction: np.ndarray, finer: float = 1.0) -> Slope | None:
        """How the results, weighed by what comes in, change along a direction; None where they cannot be computed, or
        nothing converges."""
        problem, array = self.point.problem, self.array
        (seeds,) = problem.seeds
        wanted = wide(array)

        def share(t: float) -> tuple[np.ndarray, float]:
            moved = np.asarray(wanted + t * direction).astype(array.dtype)
            values = self.engine.values_alone(replace(problem, inputs={**problem.inputs, self.name: moved}))
            if not values:
                raise GradcheckError("it raises near by")
            terms = [(wide(values[root]) * wide(g).conj()).ravel() for root, g in seeds.items() if g is not None]
            return np.concatenate(terms).real, t

        size = float(np.max(np.abs(wanted[direction != 0]), initial=0.0)) or 1.0
        reach = float(np.max(np.abs(direction))) or 1.0
        try:
            first = finer * 2.0 ** np.floor(np.log2(size / reach / 8))
            found = slope(share, first, max(epsilon(array.dtype), 2.0**-52))
        except (GradcheckError, ValueError, KeyError):
            return None
        return found if np.isfinite(found.error) else None


def judged(claim: OwnGradient, forward: np.ndarray | None) -> Comparison:
    """The gradient by differences where they are clear, and by the forward where that is there."""
    got = claim.values
    if got is None:
        return _by_forward(claim, forward)
    scale = float(np.max(np.abs(got), initial=0.0))
    if forward is not None and forward.shape == got.shape:
        scale = max(scale, float(np.max(np.abs(wide(forward)), initial=0.0)))
    by_forward = _by_forward(claim, forward)
    backed = by_forward.status == "passed" and by_forward.reference == FORWARD
    sides_with_code, kinked = 0, False
    for direction in _directions(claim, few=backed and claim.point.trial is not None):
        found = claim.slope(direction)
        if found is None or not _is_clear(found, scale):
            continue
        if found.kinked and np.count_nonzero(direction) > 1:
            continue
        if not _agrees(claim, direction, found, scale) and _is_sure(claim, direction, found, scale, backed):
            return _failed(claim, direction, found)
        sides_with_code += 1
        kinked |= found.kinked
    if kinked:
        between = fact("between_the_sides", engine=claim.engine.name)
        told = {"shape": claim.array.shape, "elements": claim.array.size, "verdict": between}
        return replace(claim.subject(DIFFERENCES).passed(**told), status="not_differentiable")
    if by_forward.status == "failed" and by_forward.mismatch is None and sides_with_code:
        # what is far off is the forward's own doing: something in it that torch does not differentiate
        passed = claim.subject(FORWARD).passed(shape=claim.array.shape, elements=claim.array.size)
        return passed.noted(fact("forward_not_followed"))
    return by_forward


def _along(got: np.ndarray, direction: np.ndarray) -> float:
    return float(np.sum(got.conj() * direction).real)


def _is_clear(found: Slope, scale: float) -> bool:
    return found.error <= _BLURRED * max(scale, abs(found.value), *map(abs, found.sides))


def _agrees(claim: OwnGradient, direction: np.ndarray, found: Slope, scale: float, noise: float = 0.0) -> bool:
    got = claim.values
    assert got is not None
    mine = _along(got, direction)
    size = max(abs(found.value), scale, float(np.sum(np.abs(got * direction))))
    room = _BARS * found.error + base(claim.array.dtype).rtol * size + noise
    return bool(min(found.sides) - room <= mine <= max(found.sides) + room)


def _is_sure(claim: OwnGradient, direction: np.ndarray, found: Slope, scale: float, backed: bool) -> bool:
    """Whether a contradiction stays, where the code's own rounding is allowed, and steps are smaller. Where torch makes
    the same of the forward as the code, smaller steps must say the same as larger ones."""
    noise = claim.noise.at(claim.point, claim.name)
    allowed = 0.0
    if noise is not None and not found.kinked and noise.shape == direction.shape:
        allowed = float(np.sum(noise * np.abs(direction)))
    if _agrees(claim, direction, found, scale, allowed):
        return False
    confirmed = not backed
    for finer in _FINER:
        again = claim.slope(direction, finer)
        if again is None:
            continue
        apart = abs(again.value - found.value) > _BARS * (again.error + found.error)
        if apart and (backed or _agrees(claim, direction, again, scale, allowed)):
            return False
        confirmed |= _is_clear(again, scale)
    return confirmed


def _directions(claim: OwnGradient, few: bool) -> Iterator[np.ndarray]:
    """Some elements each alone, of complex ones both parts, unless few are asked for, then all together."""
    shape, size = claim.array.shape, claim.array.size
    generator = stream(claim.point.problem.seed, "directions", claim.name)
    places = np.arange(size) if size <= _ELEMENTS else generator.choice(size, _ELEMENTS, replace=False)
    units = (1.0, 1j) if claim.array.dtype.kind == "c" else (1.0,)
    for place in () if few and size > 1 else places:
        for unit in units:
            one = np.zeros(size, dtype=type(units[-1]))
            one[place] = unit
            yield one.reshape(shape)
    if size > 1:  # what is right for each of two that are equal may add up to too much
        yield np.ones(shape)
    if size > _ELEMENTS or few:
        for _ in range(1 if few else _DIRECTIONS):
            yield generator.standard_normal(shape) * units[-1]


def _failed(claim: OwnGradient, direction: np.ndarray, found: Slope) -> Comparison:
    """The gradient beside differences, at the element that they were taken for."""
    got = claim.values
    assert got is not None
    place = tuple(int(i) for i in np.unravel_index(int(np.argmax(np.abs(direction))), direction.shape))
    single = np.count_nonzero(direction) == 1
    mine = _along(got, direction)
    failed = claim.subject(DIFFERENCES).failed(
        None if single else fact("along_a_direction"),
        shape=claim.array.shape,
        dtype=claim.array.dtype.name,
        elements=claim.array.size,
        mismatched=1,
        worst_index=place if single else None,
        got=mine,
        want=found.value,
        max_abs=abs(mine - found.value),
        max_rel=abs(mine - found.value) / abs(found.value) if found.value else float("inf"),
        atol=_BARS * found.error,
        rtol=base(claim.array.dtype).rtol,
    )
    return failed.noted(fact("differences_bar", error=found.error))


def _by_forward(claim: OwnGradient, forward: np.ndarray | None) -> Comparison:
    """The gradient beside what torch makes of the forward."""
    subject = claim.subject(FORWARD)
    if forward is None or claim.engine.code.pulled is not None:
        if claim.values is None:
            assert claim.gradient is not None
            wrong = fact("shapes_differ", got=claim.gradient.shape, want=claim.array.shape)
            return subject.failed(wrong, shape=claim.array.shape)
        return claim.subject(DIFFERENCES).passed(shape=claim.array.shape, elements=claim.array.size)
    found = compare(claim.gradient, forward, base(claim.array.dtype), subject)
    return claim.noise.judged(found, claim.point) if found.status == "failed" and found.mismatch is None else found
