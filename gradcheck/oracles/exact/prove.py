"""Proofs of gradient formulas: both sides are evaluated at random points of a finite field until chance is ruled out.

The directional derivative D of the forward, by dual numbers, owes nothing to any gradient rule. If a formula G differs
from the true gradient, `<G, V> - D` is a polynomial (or a fraction of two) that is not zero, and vanishes at a random
point with a probability of at most its degree over the prime (Schwartz, JACM 27(4), 1980; Zippel, EUROSAM 1979). Points
are added until the product of these bounds is below `BOUND`. All claims of a problem are looked at together, each
tensor along a direction of its own; only where they do not add up is each looked at by itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import Literal

from gradcheck.autograd.modes import quiet
from gradcheck.errors import GradcheckError, ShapeMismatch
from gradcheck.facts import Fact, fact
from gradcheck.language.case import Case, Claim
from gradcheck.language.expr.nodes import Expr
from gradcheck.language.problem import Problem
from gradcheck.oracles.exact.degree import Degree
from gradcheck.oracles.exact.dependencies import Dependencies
from gradcheck.oracles.exact.dual import DivisionByZero, Dual
from gradcheck.oracles.exact.graph import GraphAtPoint

#: How unlikely it must be that a wrong formula is accepted.
BOUND = 1e-18
#: A claim that asks for more points than this is left to another oracle.
MAX_POINTS = 10
#: At so many points a divisor may be 0 before the claim is left to another oracle.
MAX_DIVISIONS_BY_ZERO = 3


@dataclass(frozen=True, slots=True)
class Proof:
    """What the oracle found out about one claim."""

    status: Literal["proved", "refuted", "unsupported"]
    points: int = 0
    degree: int = 0  # of the numerator of what must be 0
    bound: float = 1.0  # the probability of accepting a wrong claim
    uninterpreted: tuple[str, ...] = ()  # the functions that may have taken any values
    why: Fact | None = None  # where it is unsupported


def prove(problem: Problem, claims: Iterable[tuple[str, Claim]], seed: int = 0) -> list[Proof]:
    """For each `(tensor, formula)`, whether it is the tensor's gradient, at this problem's sizes and for any values."""
    dependencies = Dependencies(problem)
    why = unsupported(problem.case)
    trackers = [_Tracker(name, claim.expr, why) for name, claim in claims]
    for tracker in trackers:
        tracker.find_gradients(dependencies)
    with quiet():
        _run(problem, dependencies, trackers, seed)
        again = [tracker for tracker in trackers if tracker.refuted and "sqrt" in tracker.uninterpreted]
        for tracker in again:
            tracker.restart()
        _run(problem, dependencies, again, seed, keeps_squares=True)
    return [tracker.proof() for tracker in trackers]


def unsupported(case: Case) -> Fact | None:
    """Why the oracle cannot speak of this case at all, if it cannot."""
    if not case.dtype.startswith(("float", "bfloat")):
        return fact("exact_dtype", dtype=case.dtype)
    if any(step.action != "backward" or step.raises for step in case.steps):
        return fact("exact_steps")
    return None


def _run(
    problem: Problem, dependencies: Dependencies, trackers: list[_Tracker], seed: int, keeps_squares: bool = False
) -> None:
    for number in range(MAX_POINTS):
        going = [tracker for tracker in trackers if not tracker.done]
        if not going:
            break
        try:
            at_point = _ClaimsAtPoint(GraphAtPoint(problem, dependencies, number, seed, keeps_squares), going)
        except GradcheckError as error:
            for tracker in going:
                tracker.record_error(error)
        else:
            at_point.compare()


@dataclass(slots=True)
class _Tracker:
    """What is known of one claim so far."""

    name: str
    formula: Expr
    why: Fact | None = None
    points: int = 0
    degree: int = 0
    bound: float = 1.0
    refuted: bool = False
    errors: int = 0
    uninterpreted: set[str] = field(default_factory=set)
    #: The tensors whose gradients it speaks of.
    gradients: tuple[str, ...] = ()

    @property
    def done(self) -> bool:
        return self.refuted or self.why is not None or self.bound < BOUND

    def find_gradients(self, dependencies: Dependencies) -> None:
        if self.why is None:
            try:
                self.gradients = dependencies.of(self.formula).gradients
            except GradcheckError as error:
                self.why = fact("exact_error", message=error.message)

    def restart(self) -> None:
        self.points, self.degree, self.bound, self.errors = 0, 0, 1.0, 0
        self.refuted = False

    def record_error(self, error: GradcheckError) -> None:
        """At a point where it cannot be evaluated; another may do where a divisor was 0."""
        self.errors += 1
        if isinstance(error, ShapeMismatch):
            self.refuted = True
        elif not isinstance(error, DivisionByZero) or self.errors >= MAX_DIVISIONS_BY_ZERO:
            self.why = fact("exact_error", message=error.message)

    def record_gap(self, gap: Dual, degree: Degree) -> None:
        """What is 0 if the formula is right. It, and what it rests on, have at most this degree."""
        self.points += 1
        self.uninterpreted |= gap.point.uninterpreted
        self.degree = max(self.degree, degree.numerator)
        self.bound *= gap.point.error_bound(degree)
        self.refuted = bool(gap.value != 0)

    def proof(self) -> Proof:
        functions = tuple(sorted(self.uninterpreted))
        if self.why is not None:
            return Proof("unsupported", why=self.why)
        if self.refuted and functions:
            why = fact("exact_uninterpreted", functions=functions)
            return Proof("unsupported", self.points, self.degree, uninterpreted=functions, why=why)
        if self.refuted:
            return Proof("refuted", self.points, self.degree)
        if self.bound >= BOUND:
            why = fact("exact_degree", degree=self.degree, points=self.points)
            return Proof("unsupported", self.points, self.degree, self.bound, functions, why)
        return Proof("proved", self.points, self.degree, self.bound, functions)


class _ClaimsAtPoint:
    """Some claims at one point, compared with the derivative there."""

    def __init__(self, graph: GraphAtPoint, trackers: list[_Tracker]) -> None:
        self.graph = graph
        self._derivatives: dict[str, Dual] = {}
        tensors = {name for tracker in trackers for name in (tracker.name, *tracker.gradients)}
        self.derivative = self._along(tensors)
        values = [(tracker, self._value(tracker)) for tracker in trackers]
        self.claimed = [(tracker, value) for tracker, value in values if value is not None]
        #: One claim for each tensor, the core's own where a formula speaks of it.
        self.chosen: dict[str, Dual] = {tracker.name: value for tracker, value in reversed(self.claimed)}
        self.chosen.update(graph.gradients)
        if self.derivative is None or set(self.chosen) != tensors:
            self.derivative = self._along(set(self.chosen))

    def _along(self, tensors: set[str]) -> Dual | None:
        """The derivative along all their directions; None where one of them has none."""
        try:
            return self.graph.derivative(tensors)
        except GradcheckError:
            self.graph.derivative(())
            return None

    def _value(self, tracker: _Tracker) -> Dual | None:
        try:
            return self.graph.claimed(tracker.name, tracker.formula)
        except GradcheckError as error:
            tracker.record_error(error)
            return None

    def compare(self) -> None:
        """All at once: what they claim along all directions, less the derivative, is 0 if all are right."""
        if self.derivative is not None and self.claimed:
            claims = [self._inner(name, value) for name, value in self.chosen.items()]
            gap = reduce(add, claims) - self.derivative
            if gap.value == 0:
                for tracker, value in self.claimed:
                    tracker.record_gap(*self._beside_the_chosen(tracker.name, value, gap))
                return
        for tracker, value in self.claimed:
            self._compare_one(tracker, value)

    def _beside_the_chosen(self, name: str, value: Dual, gap: Dual) -> tuple[Dual, Degree]:
        """A claim is right if the chosen one is, and it is the same."""
        chosen = self.chosen[name]
        if value is chosen:
            return gap, gap.degree
        difference = self._inner(name, value) - self._inner(name, chosen)
        return difference, difference.degree.join(gap.degree)

    def _compare_one(self, tracker: _Tracker, value: Dual) -> None:
        try:
            gaps = {name: self._gap(name, self.graph.gradients[name]) for name in tracker.gradients}
            wrong = [name for name, gap in gaps.items() if gap.value != 0]
            if wrong:
                tracker.why = fact("exact_core_gradient", tensor=wrong[0])
                return
            gap = self._gap(tracker.name, value)
        except GradcheckError as error:
            tracker.record_error(error)
        else:
            tracker.record_gap(gap, reduce(Degree.join, (gap.degree for gap in gaps.values()), gap.degree))

    def _gap(self, name: str, value: Dual) -> Dual:
        """What a claim alone is off by, along a direction."""
        if name not in self._derivatives:
            self._derivatives[name] = self.graph.derivative({name})
        return self._inner(name, value) - self._derivatives[name]

    def _inner(self, name: str, value: Dual) -> Dual:
        return self.graph.directions[name].inner(value)
