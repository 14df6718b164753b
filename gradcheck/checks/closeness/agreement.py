"""Decide which of two differing answers is wrong, by further answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gradcheck.checks.closeness.tolerance import Tolerance
from gradcheck.facts import Fact, fact
from gradcheck.oracles.numeric.finite_differences import UNDERFLOW, is_vague


@dataclass(frozen=True, slots=True)
class Allowance:
    """The difference allowed between answers: absolute, and relative."""

    absolute: np.ndarray
    relative: float = 0.0

    def around(self, *answers: np.ndarray) -> np.ndarray:
        """Return the absolute allowance for answers of one shape."""
        sizes = [np.where(np.isfinite(answer), np.abs(answer), 0.0) for answer in answers]
        return Tolerance(self.relative).allowed(np.maximum.reduce(sizes), self.absolute)


@dataclass(frozen=True, slots=True)
class Answer:
    """The flat elements of one answer, with an absolute error bar."""

    name: str | Fact  # an engine, a method or a fact
    values: np.ndarray
    error: np.ndarray | float = 0.0
    independent: bool = False  # an oracle, which decides between two that disagree

    def agrees(self, other: Answer, allowance: Allowance) -> bool:
        """Return whether both answers may be right."""
        allowed = allowance.around(self.values, other.values)
        with np.errstate(all="ignore"):
            near = np.abs(self.values - other.values) <= allowed + self.error + other.error
        known = np.isfinite(self.error + other.error)  # an oracle's NaN with an infinite bar is no answer
        same = (self.values == other.values) | (np.isnan(self.values) & np.isnan(other.values) & known)
        return bool(np.all(near | same))

    def may_decide(self, *sides: Answer) -> bool:
        """Return whether, where a side is no number, the bar is narrow or met."""
        finite = np.logical_and.reduce([np.isfinite(side.values) for side in sides])
        met = np.logical_or.reduce([self.values == side.values for side in sides])
        return bool(np.all(finite | met | ~is_vague(self.values, self.error)))

    def is_too_uncertain(self, allowance: Allowance) -> bool:
        """Return whether the error bar exceeds the allowance."""
        return not bool(np.all(self.error <= np.maximum(allowance.around(self.values), UNDERFLOW)))


def who_is_wrong(got: Answer, want: Answer, others: Sequence[Answer], allowance: Allowance) -> Fact | None:
    """Return which of two answers is wrong; None if no other one decides."""
    camps: tuple[list[Answer], list[Answer]] = ([got], [want])
    elsewhere: list[Answer] = []
    blurred: list[Answer] = []
    for other in others:
        sides = [other.agrees(one, allowance) for one in (got, want)]
        unsure = other.is_too_uncertain(allowance) and not any(sides)
        if all(sides) or unsure or (other.independent and not other.may_decide(got, want)):
            blurred.append(other)
        elif any(sides):
            camps[sides.index(True)].append(other)
        elif not other.is_too_uncertain(allowance):
            elsewhere.append(other)
    mine, theirs = camps
    if len(mine) == len(theirs) == 1:
        return _without_majority(got, want, elsewhere, blurred)
    if len(mine) > 1 and len(theirs) > 1:
        return _two_camps(mine, theirs)
    alone, many = (got, theirs) if len(mine) == 1 else (want, mine)
    if alone is want and len(many) == 2 and many[1].independent:
        return fact("oracle_sides_with", got=got.name, want=want.name, oracle=many[1].name, closeness=_closeness(many))
    return fact("stands_alone", wrong=alone.name, agree=_names(many), closeness=_closeness(many))


def is_found_wrong(verdict: Fact, name: str | Fact) -> bool:
    """Return whether a verdict says that this answer is wrong."""
    if verdict.kind == "oracle_sides_with":
        return bool(verdict["want"] == name)
    if verdict.kind == "wrong_together":
        return name in verdict["wrong"]
    if verdict.kind == "outside_subgradients":
        return bool(verdict["name"] == name)
    return verdict.kind == "stands_alone" and bool(verdict["wrong"] == name)


def _without_majority(got: Answer, want: Answer, elsewhere: Sequence[Answer], blurred: Sequence[Answer]) -> Fact | None:
    if elsewhere:
        return fact("all_differ", names=_names([got, want, *elsewhere]))
    for one in blurred:
        if one.independent:
            bar = float(np.max(one.error))
            return fact("oracle_cannot_tell", got=got.name, want=want.name, oracle=one.name, error=bar)
    return None


def _two_camps(mine: Sequence[Answer], theirs: Sequence[Answer]) -> Fact:
    judges = [one for one in (*mine, *theirs) if one.independent]
    if len(judges) == 1:
        wrong, right = (theirs, mine) if judges[0] in mine else (mine, theirs)
        return fact("wrong_together", wrong=_names(wrong), agree=_names(right), closeness=_closeness(right))
    return fact("parted", some=_names(mine), others=_names(theirs))


def _names(answers: Sequence[Answer]) -> tuple[str | Fact, ...]:
    return tuple(dict.fromkeys(one.name for one in answers))


def _closeness(answers: Sequence[Answer]) -> float:
    base = np.abs(answers[0].values)
    with np.errstate(all="ignore"):
        relative = [np.abs(one.values - answers[0].values) / base for one in answers[1:]]
    finite = [r[np.isfinite(r)] for r in relative]
    return max((float(r.max()) for r in finite if r.size), default=0.0)
