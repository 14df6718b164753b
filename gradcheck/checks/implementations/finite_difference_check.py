"""Check a gradient of code without a specification by finite differences.

It is also compared with torch's gradient of the code's forward. A difference with a small error bar decides, once
smaller steps confirm it; otherwise the forward does. At a kink any value between the two sides is right. Along
several elements at once a kink decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from gradcheck.autograd.dtypes import largest_finite, wide
from gradcheck.checks.closeness.compare import compare
from gradcheck.checks.closeness.rounding import recheck_with_allowance
from gradcheck.checks.closeness.tolerance import epsilon
from gradcheck.checks.implementations.code_gradient import (
    ELEMENTS,
    CodeGradient,
    generator_of,
    joint_directions,
    numeric_gradient,
    slope_along,
    unit_directions,
    with_sides_nearby,
)
from gradcheck.checks.implementations.undefined_derivatives import is_undefined
from gradcheck.checks.result import Comparison
from gradcheck.facts import fact
from gradcheck.oracles.numeric.finite_differences import Slope

#: A wider error bar, relative to the largest gradient, decides nothing.
_MAX_ERROR = 1e-4
#: The same in lower precision, in roots of its unit.
_ROOTS = 4.0
#: How many error bars a right gradient may be away.
_BARS = 8.0
#: Random directions at the given inputs of code whose forward torch does not record.
_JOINT_DIRECTIONS = 3
#: Single elements of recorded code in lower than double precision.
_FEW_UNITS, _DOUBLE = 2, 2.0**-50
#: Factors for the steps that confirm a contradiction.
_FINER = (2.0**-7, 2.0**-20)
#: Differences by less, relative to the largest gradient, do not contradict code and its recorded forward together.
_SLIGHT = 1e-6
#: Gradients that differ by a larger factor are not checked together.
_LOST = 1e3
#: Rounding of more than so many times the largest gradient leaves it no digit.
_NO_DIGIT = 2.0
#: The bytes of a number in double precision.
_DOUBLE_BYTES = 8
DIFFERENCES, FORWARD = "differences", "its own forward"


def is_jointly_right(claims: Sequence[CodeGradient], times: int = 1, most: float = _MAX_ERROR / _LOST) -> bool:
    """Return whether differences confirm all gradients of a point together.

    All inputs move in several random directions, and along ones if numbers are equal. False if differences do not
    decide: if their error is more than the part `most` of the gradients."""
    generator = generator_of(claims[0], "together")
    directions = [[(claim, _random_direction(claim, generator)) for claim in claims] for _ in range(times)]
    directions += [[(claim, np.ones(claim.array.shape)) for claim in claims]] if _some_equal(claims) else []
    for moves in directions:
        sizes = [float(np.sum(np.abs(claim.values * way))) for claim, way in moves if claim.values is not None]
        if len(sizes) < len(claims) or not 0 < max(sizes) <= _LOST * min(sizes):
            return False
        found = slope_along(moves, scale=max(sizes))
        if found is None or found.kinked or found.error > most * max(sizes):
            return False
        mine = sum(_directional_derivative(claim.values, way) for claim, way in moves if claim.values is not None)
        room = max(claim.tolerance.rtol for claim in claims) * sum(sizes) + sum(_absolute_room(*one) for one in moves)
        if not abs(mine - found.value) <= _BARS * found.error + room:
            return False
    return True


def _random_direction(claim: CodeGradient, generator: np.random.Generator) -> np.ndarray:
    drawn = generator.standard_normal(claim.array.shape)
    return drawn + 1j * generator.standard_normal(drawn.shape) if claim.array.dtype.kind == "c" else drawn


def compare_with_differences(claims: Sequence[tuple[CodeGradient, np.ndarray | None]]) -> Iterator[Comparison]:
    """Compare all gradients of a point; first in a few random directions."""
    by_forward = [_compare_with_forward(claim, forward) for claim, forward in claims]
    is_recorded = all(map(_is_confirmed_by_forward, by_forward))
    is_drawn, is_low = claims[0][0].point.trial is not None, claims[0][0].array.dtype.itemsize < _DOUBLE_BYTES
    few = 1 if is_recorded or (is_drawn and not is_low) else _JOINT_DIRECTIONS
    # in low precision differences of single elements say no more, and take long
    most = _clear_error(claims[0][0]) if is_drawn and is_low else _MAX_ERROR / _LOST
    if is_jointly_right([claim for claim, _ in claims], few, most):
        yield from (_passed_by_differences(claim, c) for (claim, _), c in zip(claims, by_forward, strict=True))
        return
    each = [_compare_one(claim, forward, found) for (claim, forward), found in zip(claims, by_forward, strict=True)]
    if len(each) > 1 and all(c.status != "failed" for c in each) and not all(map(_is_confirmed_by_forward, by_forward)):
        too_much = _check_joint_slope([claim for claim, _ in claims])
        each = [*each, too_much] if too_much is not None else each
    yield from each


def _passed_by_differences(claim: CodeGradient, by_forward: Comparison) -> Comparison:
    """Return a comparison that differences confirm.

    If torch's gradient of the forward is off, torch does not differentiate some part of it."""
    if by_forward.status != "failed" or by_forward.mismatch is not None:
        return by_forward
    passed = claim.subject(FORWARD).passed(shape=claim.array.shape, elements=claim.array.size)
    return passed.with_notes(fact("forward_not_followed"))


def _some_equal(claims: Sequence[CodeGradient]) -> bool:
    numbers = np.concatenate([claim.array.ravel() for claim in claims])
    return len(np.unique(wide(numbers))) < numbers.size


def _check_joint_slope(claims: Sequence[CodeGradient]) -> Comparison | None:
    """Check the derivative where all inputs, perhaps equal, move together."""
    moves = [(claim, np.ones(claim.array.shape)) for claim in claims]
    total = sum(_directional_derivative(claim.values, way) for claim, way in moves if claim.values is not None)
    size = float(sum(np.sum(np.abs(claim.values)) for claim in claims if claim.values is not None))
    noises = [claim.noise.at(claim.point, claim.name) for claim in claims]
    room = max(claim.tolerance.rtol for claim in claims) * size + sum(_absolute_room(*one) for one in moves)
    room += sum(float(np.sum(one)) for one in noises if one is not None)
    found: Slope | None = None
    for finer in (1.0, *_FINER):
        found = slope_along(moves, finer, size)
        if found is None or found.kinked or not _is_clear(claims[0], found, size):
            return None
        if abs(found.value - total) <= _BARS * found.error + room:
            return None
    assert found is not None
    claim, _ = moves[0]
    wrong = fact("along_all_together", names=tuple(one.name for one in claims))
    shape = {"shape": claim.array.shape, "elements": claim.array.size, "mismatched": 1}
    off = {"got": total, "want": found.value, "max_abs": abs(total - found.value)}
    return claim.subject(DIFFERENCES).failed(wrong, dtype=claim.array.dtype.name, **shape, **off)


def _is_confirmed_by_forward(by_forward: Comparison) -> bool:
    return by_forward.status == "passed" and by_forward.reference == FORWARD


def _compare_one(claim: CodeGradient, forward: np.ndarray | None, by_forward: Comparison) -> Comparison:
    """Compare by differences where they are clear, else by the forward."""
    got = claim.values
    if got is None:
        return by_forward
    scale = largest_finite(got)
    if forward is not None and forward.shape == got.shape:
        scale = max(scale, largest_finite(wide(forward)))
    forward_agrees = _is_confirmed_by_forward(by_forward)
    checks = _DifferenceChecks(claim, scale, forward_agrees)
    failed = checks.first_failure(joint_directions(claim, few=True)) if forward_agrees else None
    if failed is None and (not forward_agrees or (claim.point.trial is None and checks.unclear_count)):
        is_low = epsilon(claim.array.dtype) > _DOUBLE  # differences are hardly ever clear
        units = islice(unit_directions(claim), _FEW_UNITS if forward_agrees and is_low else None)
        failed = checks.first_failure(units)
        if failed is None and not forward_agrees:
            failed = checks.first_failure(joint_directions(claim))
    if failed is not None:
        return _in_all_elements(failed, claim, by_forward)
    if checks.kinked:
        between = fact("between_the_sides", engine=claim.engine.name)
        fields = {"shape": claim.array.shape, "elements": claim.array.size, "verdict": between}
        return replace(claim.subject(DIFFERENCES).passed(**fields), status="not_differentiable")
    if is_undefined(by_forward) and not _has_slopes(claim, by_forward, scale):
        undefined = fact("undefined_at_kink", engine=claim.engine.name)
        return replace(by_forward, status="not_differentiable", verdict=undefined)
    return _passed_by_differences(claim, by_forward) if checks.agreement_count else by_forward


@dataclass(slots=True)
class _DifferenceChecks:
    claim: CodeGradient
    scale: float
    forward_agrees: bool  # whether torch's gradient of the forward confirms it
    agreement_count: int = 0  # with error bars that outweigh torch's gradient of the forward
    unclear_count: int = 0
    kinked: bool = False  # whether some element has two sides

    def first_failure(self, directions: Iterable[np.ndarray]) -> Comparison | None:
        """Return the failure of the first direction that contradicts the code."""
        claim, got = self.claim, self.claim.values
        assert got is not None
        for direction in directions:
            size = max(self.scale, float(np.nansum(np.abs(got * direction))))
            found = claim.slope(direction, scale=size)
            is_joint = np.count_nonzero(direction) > 1
            if found is None or not _is_clear(claim, found, self.scale) or (found.kinked and is_joint):
                self.unclear_count += 1
                continue
            # torch has no number either: at drawn inputs that is no failure
            is_torchs = self.forward_agrees and claim.point.trial is not None
            has_no_number = not np.isfinite(_directional_derivative(got, direction))
            if not (has_no_number and (found.kinked or is_torchs)) and self._contradicts(direction, found):
                return _failed(claim, direction, found)
            self.agreement_count += found.error <= _MAX_ERROR * max(self.scale, abs(found.value))
            self.kinked |= found.kinked
        return None

    def _contradicts(self, direction: np.ndarray, found: Slope) -> bool:
        slight = _SLIGHT * self.scale * float(np.sum(np.abs(direction))) if self.forward_agrees else 0.0
        if _agrees(self.claim, direction, found, self.scale, slight):
            return False
        return _is_sure(self.claim, direction, found, self.scale, self.forward_agrees)


def _has_slopes(claim: CodeGradient, c: Comparison, scale: float) -> bool:
    """Return whether one of the first wrong elements has a derivative."""
    for place in () if c.mask is None else np.flatnonzero(c.mask)[:ELEMENTS]:
        found = claim.slope(claim.unit(int(place)))
        if found is not None and not found.kinked and _is_clear(claim, found, scale):
            return True
    return False


def _directional_derivative(got: np.ndarray, direction: np.ndarray) -> float:
    moves = direction != 0  # a NaN elsewhere belongs to another element
    return float(np.sum(got[moves].conj() * direction[moves]).real)


def _absolute_room(claim: CodeGradient, direction: np.ndarray) -> float:
    return float(np.sum((claim.tolerance.atol + claim.rounding) * np.abs(direction)))


def _is_clear(claim: CodeGradient, found: Slope, scale: float) -> bool:
    return found.error <= _clear_error(claim) * max(scale, abs(found.value), *map(abs, found.sides))


def _clear_error(claim: CodeGradient) -> float:
    return max(_MAX_ERROR, _ROOTS * float(np.sqrt(epsilon(claim.array.dtype))))


def _agrees(claim: CodeGradient, direction: np.ndarray, found: Slope, scale: float, noise: float = 0.0) -> bool:
    got = claim.values
    assert got is not None
    mine = _directional_derivative(got, direction)
    size = max(abs(found.value), scale, float(np.sum(np.abs(got * direction))))
    room = _BARS * found.error + claim.tolerance.rtol * size + _absolute_room(claim, direction) + noise
    return bool(min(found.sides) - room <= mine <= max(found.sides) + room)


def _is_sure(claim: CodeGradient, direction: np.ndarray, found: Slope, scale: float, forward_agrees: bool) -> bool:
    """Return whether a contradiction persists beyond rounding at finer steps."""
    noise = claim.noise.at(claim.point, claim.name)
    allowed = 0.0
    slack = _MAX_ERROR * scale
    if found.kinked and _agrees(claim, direction, with_sides_nearby(claim, direction, found), scale, slack):
        return False
    if noise is not None and not found.kinked and noise.shape == direction.shape and not _is_noise_alone(claim, found):
        allowed = float(np.sum(noise * np.abs(direction)))
    if _agrees(claim, direction, found, scale, allowed):
        return False
    confirmed = not forward_agrees
    for finer in _FINER:
        again = claim.slope(direction, finer)
        if again is None:
            continue
        apart = abs(again.value - found.value) > _BARS * (again.error + found.error)
        if apart and (forward_agrees or _agrees(claim, direction, again, scale, allowed)):
            return False
        confirmed |= _is_clear(claim, again, scale)
    return confirmed


def _is_noise_alone(claim: CodeGradient, found: Slope) -> bool:
    """Return whether a gradient that differences know has no digit."""
    if claim.values is None or found.error > _MAX_ERROR * abs(found.value):
        return False
    return claim.noise.largest(claim.point, claim.name) > _NO_DIGIT * largest_finite(claim.values)


def _failed(claim: CodeGradient, direction: np.ndarray, found: Slope) -> Comparison:
    got = claim.values
    assert got is not None
    place = tuple(int(i) for i in np.unravel_index(int(np.argmax(np.abs(direction))), direction.shape))
    single = np.count_nonzero(direction) == 1
    mine = _directional_derivative(got, direction)
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
        atol=_BARS * found.error + _absolute_room(claim, direction),
        rtol=claim.tolerance.rtol,
    )
    notes = [fact("differences_bar", error=found.error)]
    if _is_noise_alone(claim, found):
        size = claim.noise.largest(claim.point, claim.name)
        notes.append(fact("rounding_alone", engine=claim.engine.name, size=size))
    return failed.with_notes(*notes)


def _in_all_elements(failed: Comparison, claim: CodeGradient, by_forward: Comparison) -> Comparison:
    """Return the failure of one element, or direction, with all elements.

    The right ones are torch's gradient of the forward if it has the derivative there, else differences."""
    right, place = by_forward.want_array, failed.worst_index
    if by_forward.status == "failed" and right is not None and place is not None and failed.want is not None:
        bar = _BARS * (failed.atol or 0.0) + _MAX_ERROR * abs(failed.want)
        if right.shape == claim.array.shape and abs(wide(right)[place] - failed.want) <= bar:
            return by_forward.with_notes(*failed.notes)
    found = numeric_gradient(claim)
    if found is None or claim.values is None:
        return failed
    want, error = found[0].astype(claim.array.dtype), found[1]
    tolerance = replace(claim.tolerance, atol=_BARS * error + claim.tolerance.atol)
    again = compare(claim.gradient, want, tolerance, failed.subject)
    return again.with_notes(*failed.notes) if again.status == "failed" else failed


def _compare_with_forward(claim: CodeGradient, forward: np.ndarray | None) -> Comparison:
    subject = claim.subject(FORWARD)
    if forward is None or claim.engine.code.foreign is not None:
        if claim.values is None:
            assert claim.gradient is not None
            wrong = fact("shapes_differ", got=claim.gradient.shape, want=claim.array.shape)
            return subject.failed(wrong, shape=claim.array.shape)
        return claim.subject(DIFFERENCES).passed(shape=claim.array.shape, elements=claim.array.size)
    found = compare(claim.gradient, forward, claim.tolerance, subject)
    if found.status != "failed" or found.mismatch is not None:
        return found
    found = recheck_with_allowance(found, claim.rounding, float("inf"))
    return claim.noise.allow_rounding(found, claim.point) if found.status == "failed" else found
