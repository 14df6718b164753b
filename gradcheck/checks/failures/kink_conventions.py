"""Conventions at kinks: failures that are two subgradients of one kink.

Claims about inputs are judged together; a claim about an entry or an op alone. If no gradients nearby are known, the
function jumps, or a file states one convention, elements are judged by one-sided derivatives of the forward.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from gradcheck.autograd.dtypes import wide
from gradcheck.autograd.modes import quiet
from gradcheck.autograd.op import Op
from gradcheck.autograd.operators import Operators
from gradcheck.checks.claims.wrong_formulas import WrongFormula, try_to_refute
from gradcheck.checks.closeness.agreement import Allowance, Answer
from gradcheck.checks.context import Context
from gradcheck.checks.failures.disagreement import disagreement_of
from gradcheck.checks.failures.nearby_gradients import (
    GraphNearbyGradients,
    NearbyGradients,
    OpNearbyGradients,
    gradients_of,
)
from gradcheck.checks.failures.point_failures import COMPUTATION_ERRORS
from gradcheck.checks.failures.subgradients import Subgradients
from gradcheck.checks.points.point import Point
from gradcheck.checks.result import Comparison
from gradcheck.engines.recording import convert
from gradcheck.errors import GradcheckError
from gradcheck.facts import Fact, fact
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.problem import Problem
from gradcheck.oracles.numeric.finite_differences import Estimate
from gradcheck.oracles.numeric.numeric_gradient import is_between_sides

#: Claims that may follow another convention. Expected numbers state theirs.
CONVENTION_CLAIMS = frozenset((ClaimKind.GRADIENT, ClaimKind.FORMULA, ClaimKind.NODE))

#: So many rounds show a reference outside of the hull; one that shares among ties is deep inside.
_FEW = 6

Arrays = Mapping[str, np.ndarray]


@dataclass
class KinkClassifier:
    """The kinks of one point; `reliable` caches the check of nearby gradients."""

    context: Context
    point: Point
    reliable: list[bool] = field(default_factory=list)
    _known: dict[int, Subgradients | None] = field(default_factory=dict)

    def classify(self) -> None:
        """Give failures at kinks their status and verdict."""
        failed = [p for p, c in enumerate(self.context.found) if c.trial == self.point.trial and _may_be_at_kink(c)]
        for place in failed:
            self.context.found[place] = self._classified(self.context.found[place])

    def is_convention(self, refutation: Comparison) -> bool:
        """Return whether a wrong formula only follows another convention here."""
        verdict = self._classified(replace(refutation, status="failed", mismatch=None)).verdict
        return verdict is not None and verdict.kind == "convention"

    def _classified(self, c: Comparison) -> Comparison:
        try:
            tensor, found = self._subgradients(c)
            if found is None:
                return c
            dispute = disagreement_of(c)
            if dispute is None:
                return c
            at_kinks = found.all_kinked(tensor, dispute.indices)
            if at_kinks is None:
                return undecided(c)
            if not at_kinks:
                return c
            got, want = self._claims(c, found)
            return _with_kink_verdict(c, KinkDisagreement(found, tensor, dispute.indices, got, want))
        except COMPUTATION_ERRORS:  # numbers outside of a domain
            return c

    def _subgradients(self, c: Comparison) -> tuple[str, Subgradients | None]:
        """Return the tensor's name, and the subgradients around it."""
        if c.operation is not None:
            seed, one = self.point.problem.seed, c.operation
            near: NearbyGradients = OpNearbyGradients(one, self.context.engines.reference, seed)
            return str(one.index), _subgradients_around(near, _by_number(one.theirs.gradients))
        if any(step.inputs for step in self.context.case.steps):
            return c.tensor, None
        if c.step not in self._known:
            near = GraphNearbyGradients(self.point, c.step)
            held = gradients_of(self.point.want, c.step)
            if not self.reliable:
                self.reliable.append(near.is_believable())
            tensors = {name: held[name] for name in near.movable if name in held}
            self._known[c.step] = _subgradients_around(near, tensors) if self.reliable[0] else None
        found = self._known[c.step]
        return c.tensor, found if found is None or c.tensor in found.shapes else None

    def _claims(self, c: Comparison, found: Subgradients) -> tuple[Arrays, Arrays]:
        """Return both sides' claims about all tensors."""
        if c.operation is not None:
            got, want = (_by_number(side.gradients) for side in (c.operation.mine, c.operation.theirs))
        elif c.what is ClaimKind.GRADIENT:
            engine = next(e for e in self.context.engines.all if e.name == c.engine)
            got, want = gradients_of(self.point.evaluation(engine), c.step), gradients_of(self.point.want, c.step)
        else:
            want = gradients_of(self.point.want, c.step)
            got = self._formulas(c) if c.what is ClaimKind.FORMULA else {c.tensor: np.asarray(c.got_array)}
        alike = [n for n, shape in found.shapes.items() if n in got and n in want and got[n].shape == shape]
        return {name: got[name] for name in alike}, {name: want[name] for name in alike}

    def _formulas(self, c: Comparison) -> dict[str, np.ndarray]:
        """Return the formulas' values; of several, the one of the same rank."""
        formulas, scope = self.context.case.formulas, self.point.scope(c.step)
        rank = [claim.text for claim in formulas[c.tensor]].index(c.formula)
        found = {name: scope.array_of(listed[min(rank, len(listed) - 1)].expr) for name, listed in formulas.items()}
        return {
            name: wide(array) if array.dtype.kind in "fcV" else array.astype(float) for name, array in found.items()
        }


def judged_again(context: Context, c: Comparison, classifier: Callable[[Point], KinkClassifier]) -> Comparison:
    """Return the verdict on a wrong formula, conventions left aside."""
    again = WrongFormula(c.tensor, next(w for w in context.case.wrong_formulas[c.tensor] if w.text == c.formula))
    for point in (context.points.own, *context.points.other_points):
        try_to_refute([again], point, context.options.tolerance)
        if again.refutation is not None and not classifier(point).is_convention(again.refutation):
            return again.verdict()
        again.refutation = None
    return replace(c, status="failed", mismatch=fact("differs_at_kinks"))


def _may_be_at_kink(c: Comparison) -> bool:
    arrays = (c.got_array, c.want_array)
    real = all(a is None or a.dtype.kind in "fV" for a in arrays) and any(a is not None for a in arrays)
    return c.status == "failed" and c.what in CONVENTION_CLAIMS and c.mask is not None and real


def _subgradients_around(near: NearbyGradients, tensors: Arrays) -> Subgradients | None:
    if not near.movable or not tensors:
        return None
    found = Subgradients(near, tensors)
    return found if found.are_known else None


def _by_number(gradients: Sequence[np.ndarray | None]) -> dict[str, np.ndarray]:
    return {str(number): wide(g) for number, g in enumerate(gradients) if g is not None}


@dataclass(frozen=True, slots=True)
class KinkDisagreement:
    """Two claims about all tensors that differ in `elements` of one."""

    subgradients: Subgradients
    tensor: str
    elements: np.ndarray
    got: Arrays
    want: Arrays

    def at(self, claims: Arrays) -> np.ndarray:
        return np.asarray(claims[self.tensor].ravel()[self.elements])

    def sides(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the lowest and highest number of each disputed element."""
        low, high = self.subgradients.spread(self.tensor)
        return low[self.elements], high[self.elements]


def _with_kink_verdict(c: Comparison, dispute: KinkDisagreement) -> Comparison:
    mine = dispute.subgradients.locate(dispute.got)
    if mine == "unknown":
        return undecided(c)
    name: str | Fact = fact("the_formula") if c.what is ClaimKind.FORMULA else c.engine
    theirs = "unknown" if mine == "outside" and c.trial is None else dispute.subgradients.locate(dispute.want, _FEW)
    if mine == "outside" and theirs == "outside":  # e.g. a chain of conventions
        return replace(c, status="not_differentiable", verdict=fact("nobody_has_a_subgradient", reference=c.reference))
    if mine == "outside":
        return replace(c, verdict=_outside(name, dispute, dispute.at(dispute.got)))
    if theirs == "outside":
        said = _outside(c.reference, dispute, dispute.at(dispute.want))
        return replace(c, status="passed", verdict=fact("reference_wrong", reference=c.reference, what=said))
    low, high = (float(side[0]) for side in dispute.sides())
    sides = [(name, float(dispute.at(dispute.got)[0])), (c.reference, float(dispute.at(dispute.want)[0]))]
    return as_convention(c, kink_fact((low, high), sides), "gradients nearby", [low, high])


Number = float | complex


def kink_fact(interval: tuple[Number, Number], sides: Sequence[tuple[str | Fact, Number]], jumps: bool = False) -> Fact:
    """Return two named subgradients at a kink, and the interval of all."""
    (low, high), ((got, got_value), (want, want_value)) = interval, sides
    return fact("kink", jumps=jumps, low=low, high=high, got=got, got_value=got_value, want=want, want_value=want_value)


def as_convention(c: Comparison, kink: Fact, method: str, sides: list[float]) -> Comparison:
    """Return a comparison as a difference of conventions at a kink."""
    known = {"method": method, "subgradients": sides}
    return replace(c, status="not_differentiable", verdict=fact("convention", kink=kink), certificate=known)


def _outside(name: str | Fact, dispute: KinkDisagreement, values: np.ndarray) -> Fact:
    """Return the verdict on a claim outside, by an element or all together."""
    low, high = dispute.sides()
    room = dispute.subgradients.jump * np.maximum(np.abs(low), np.abs(high))
    inside = (values >= low - room) & (values <= high + room)
    at = int(np.argmin(inside))
    if inside[at]:
        return fact("outside_together", name=name)
    return fact("outside_subgradients", name=name, value=float(values[at]), low=float(low[at]), high=float(high[at]))


def undecided(c: Comparison) -> Comparison:
    """Return a comparison as undecided, or at a trial as not differentiable."""
    why = fact("kinks_not_searched_further", elements=c.mismatched)
    if c.trial is not None:
        return replace(c, status="not_differentiable", mismatch=why)
    return replace(c, status="undecided", mismatch=why)


def is_smooth(problem: Problem) -> bool:
    """Return whether all ops applied to inputs are analytic, without kinks."""
    met: set[Op] = set()
    names: dict[str, Any] = {**problem.sizes, **problem.constants}
    names |= {name: _OpRecordingArray(array, met) for name, array in problem.inputs.items()}
    try:
        with quiet():
            for name, claim in problem.case.graph.items():
                names[name] = evaluate(claim.expr, names)
    except (GradcheckError, TypeError, ValueError):
        return False
    return all(op.analytic and not op.kinks for op in met)


class _OpRecordingArray(Operators):
    __slots__ = ("array", "met")

    def __init__(self, array: np.ndarray, met: set[Op]) -> None:
        self.array, self.met = array, met

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    @property
    def ndim(self) -> int:
        return self.array.ndim

    @property
    def dtype(self) -> np.dtype:
        return self.array.dtype

    @classmethod
    def __apply_op__(cls, op: Op, args: tuple[Any, ...]) -> Any:
        found: list[set[Op]] = []

        def plain(value: _OpRecordingArray) -> np.ndarray:
            found.append(value.met)
            return value.array

        result = op.compute(tuple(convert(arg, _OpRecordingArray, plain) for arg in args))
        found[0].add(op)
        return _wrap(result, found[0])


def _wrap(value: Any, met: set[Op]) -> Any:
    if isinstance(value, tuple):
        return tuple(_wrap(part, met) for part in value)
    return _OpRecordingArray(np.asarray(value), met)


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
