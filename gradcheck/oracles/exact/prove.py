"""The exact oracle: proves a gradient formula by evaluating both sides at random points of a finite field.

The directional derivative of the forward, by dual numbers, owes nothing to any gradient rule. If a formula G differs
from the true gradient, `<G, V> - D` is a polynomial (or a fraction of two) that is not zero, and vanishes at a random
point with a probability of at most its degree over the prime (Schwartz 1980, Zippel 1979). Points are added until the
product of these bounds is below `BOUND`. All claims of a problem are looked at together, each tensor along a direction
of its own; only where that fails is each looked at by itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import reduce
from typing import Literal

from gradcheck.errors import GradcheckError, ShapeMismatch
from gradcheck.language.case import Case, Claim
from gradcheck.language.expr.nodes import Expr
from gradcheck.language.problem import Problem
from gradcheck.oracles.exact.degree import Degree
from gradcheck.oracles.exact.dependencies import Needs
from gradcheck.oracles.exact.dual import Residue, Unlucky
from gradcheck.oracles.exact.graph import Scene
from gradcheck.oracles.exact.ops.arithmetic import plus

#: How unlikely it must be that a wrong formula is accepted.
BOUND = 1e-18
#: A claim that asks for more points than this is left to another oracle.
MAX_POINTS = 10
#: So often a divisor may be 0 by bad luck.
MAX_UNLUCKY = 3


@dataclass(frozen=True, slots=True)
class Proof:
    """What the oracle found out about one claim. `bound` is the probability of accepting a wrong one."""

    status: Literal["proved", "refuted", "unsupported"]
    points: int = 0
    degree: int = 0
    bound: float = 1.0
    invented: tuple[str, ...] = ()
    why: str = ""


def prove(problem: Problem, claims: Iterable[tuple[str, Claim]], seed: int = 0) -> list[Proof]:
    """For each `(tensor, formula)`, whether it is the tensor's gradient, at this problem's sizes and for any values."""
    needs = Needs(problem)
    why = unfit(problem.case)
    trackers = [_Tracker(name, claim.expr, why) for name, claim in claims]
    for tracker in trackers:
        tracker.prepare(needs)
    _run(problem, needs, trackers, seed)
    again = [tracker for tracker in trackers if tracker.refuted and "sqrt" in tracker.invented]
    for tracker in again:
        tracker.restart()
    _run(problem, needs, again, seed, squares=True)
    return [tracker.proof() for tracker in trackers]


def _run(problem: Problem, needs: Needs, trackers: list[_Tracker], seed: int, squares: bool = False) -> None:
    for number in range(MAX_POINTS):
        going = [tracker for tracker in trackers if not tracker.done]
        if not going:
            break
        try:
            hearing = _Hearing(Scene(problem, needs, number, seed, squares), going)
        except GradcheckError as error:
            for tracker in going:
                tracker.stumble(error)
        else:
            hearing.together()


@dataclass(slots=True)
class _Tracker:
    """One claim on its way."""

    name: str
    formula: Expr
    why: str = ""
    points: int = 0
    degree: int = 0
    bound: float = 1.0
    refuted: bool = False
    unlucky: int = 0
    invented: set[str] = field(default_factory=set)
    #: The tensors whose gradients it speaks of.
    gradients: tuple[str, ...] = ()

    @property
    def done(self) -> bool:
        return self.refuted or bool(self.why) or self.bound < BOUND

    def prepare(self, needs: Needs) -> None:
        if not self.why:
            try:
                self.gradients = needs.gradients(self.formula)
            except GradcheckError as error:
                self.why = error.message

    def restart(self) -> None:
        self.points, self.degree, self.bound, self.refuted, self.unlucky = 0, 0, 1.0, False, 0

    def stumble(self, error: GradcheckError) -> None:
        """At a point where it cannot be heard; another may do where a divisor was 0."""
        self.unlucky += 1
        if isinstance(error, ShapeMismatch):
            self.refuted = True
        elif not isinstance(error, Unlucky) or self.unlucky >= MAX_UNLUCKY:
            self.why = error.message

    def hear(self, gap: Residue, degree: Degree) -> None:
        """What is 0 if the formula is right. It, and what it rests on, have at most this degree."""
        self.points += 1
        self.invented |= gap.point.invented
        self.degree = max(self.degree, degree.top)
        self.bound *= gap.point.odds(degree)
        self.refuted = bool(gap.value != 0)

    def proof(self) -> Proof:
        invented = tuple(sorted(self.invented - {""}))
        if self.why:
            return Proof("unsupported", why=self.why)
        if self.refuted and invented:
            why = f"it differs where {', '.join(invented)} may take any value"
            return Proof("unsupported", self.points, self.degree, invented=invented, why=why)
        if self.refuted:
            return Proof("refuted", self.points, self.degree)
        if self.bound >= BOUND:
            why = f"its degree is {self.degree:,}, too large for {self.points} points"
            return Proof("unsupported", self.points, self.degree, self.bound, invented, why)
        return Proof("proved", self.points, self.degree, self.bound, invented)


class _Hearing:
    """Some claims at one point."""

    def __init__(self, scene: Scene, trackers: list[_Tracker]) -> None:
        self.scene = scene
        self._derivatives: dict[str, Residue] = {}
        tensors = {name for tracker in trackers for name in (tracker.name, *tracker.gradients)}
        self.derivative = self._forward(tensors)
        self.claimed = [(tracker, value) for tracker in trackers if (value := self._claimed(tracker)) is not None]
        #: One claim for each tensor, the core's own where a formula speaks of it.
        self.chosen: dict[str, Residue] = {tracker.name: value for tracker, value in reversed(self.claimed)}
        self.chosen.update(scene.gradients)
        if self.derivative is None or set(self.chosen) != tensors:
            self.derivative = self._forward(set(self.chosen))

    def _forward(self, tensors: set[str]) -> Residue | None:
        """The derivative along all their directions; None where one of them cannot move."""
        try:
            return self.scene.forward(tensors)
        except GradcheckError:
            self.scene.forward(())
            return None

    def _claimed(self, tracker: _Tracker) -> Residue | None:
        try:
            return self.scene.claimed(tracker.name, tracker.formula)
        except GradcheckError as error:
            tracker.stumble(error)
            return None

    def together(self) -> None:
        """All at once: what they claim along all directions, less the derivative, is 0 if all are right."""
        if self.derivative is not None and self.claimed:
            claims = [self._along(name, value) for name, value in self.chosen.items()]
            gap = plus(reduce(plus, claims), self.derivative, -1)
            if gap.value == 0:
                for tracker, value in self.claimed:
                    tracker.hear(*self._beside_the_chosen(tracker.name, value, gap))
                return
        for tracker, value in self.claimed:
            self._alone(tracker, value)

    def _beside_the_chosen(self, name: str, value: Residue, gap: Residue) -> tuple[Residue, Degree]:
        """A claim is right if the chosen one is, and it is the same."""
        chosen = self.chosen[name]
        if value is chosen:
            return gap, gap.degree
        difference = plus(self._along(name, value), self._along(name, chosen), -1)
        return difference, difference.degree.beside(gap.degree)

    def _alone(self, tracker: _Tracker, value: Residue) -> None:
        try:
            for name in tracker.gradients:
                if self._gap(name, self.scene.gradients[name]).value != 0:
                    tracker.why = f"the core's own gradient of {name} is not proved"
                    return
            gap = self._gap(tracker.name, value)
        except GradcheckError as error:
            tracker.stumble(error)
        else:
            used = (self._gap(name, self.scene.gradients[name]).degree for name in tracker.gradients)
            tracker.hear(gap, reduce(Degree.beside, used, gap.degree))

    def _gap(self, name: str, value: Residue) -> Residue:
        """What a claim alone is off by, along a direction."""
        if name not in self._derivatives:
            self._derivatives[name] = self.scene.forward({name})
        return plus(self._along(name, value), self._derivatives[name], -1)

    def _along(self, name: str, value: Residue) -> Residue:
        return self.scene.directions[name].along(value)


def unfit(case: Case) -> str:
    """Why the oracle cannot speak of this case at all, or nothing."""
    if not case.dtype.startswith(("float", "bfloat")):
        return f"{case.dtype} is no field of real numbers"
    if any(step.action != "backward" or step.raises for step in case.steps):
        return "its steps are more than backward passes"
    return ""


__all__ = ["BOUND", "Degree", "Proof", "prove"]
