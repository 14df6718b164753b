"""Who agrees with whom: two answers that differ, the answers of others, and what follows about who is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gradcheck.checks.closeness.tolerance import Tolerance
from gradcheck.facts import Fact, fact


@dataclass(frozen=True, slots=True)
class Allowance:
    """What two who agree may differ by: absolute, an element each, and relative to the larger of the two."""

    absolute: np.ndarray
    relative: float = 0.0

    def around(self, *answers: np.ndarray) -> np.ndarray:
        """In absolute numbers, for these answers of one shape."""
        sizes = [np.where(np.isfinite(answer), np.abs(answer), 0.0) for answer in answers]
        return Tolerance(self.relative).allowed(np.maximum.reduce(sizes), self.absolute)


@dataclass(frozen=True, slots=True)
class Answer:
    """Somebody's answer at the elements in question, flat; `error` is its error bar, absolute, if it has one."""

    name: str | Fact  # an engine's or a method's name; a fact for what has none
    values: np.ndarray
    error: np.ndarray | float = 0.0
    independent: bool = False  # an oracle: it decides between two that disagree

    def agrees(self, other: Answer, allowance: Allowance) -> bool:
        """Whether both may be right."""
        allowed = allowance.around(self.values, other.values)
        with np.errstate(all="ignore"):
            near = np.abs(self.values - other.values) <= allowed + self.error + other.error
        same = (self.values == other.values) | (np.isnan(self.values) & np.isnan(other.values))
        return bool(np.all(near | same))

    def is_too_uncertain(self, allowance: Allowance) -> bool:
        """Whether the error bar is wider than what is allowed."""
        return not bool(np.all(self.error <= allowance.around(self.values)))


def who_is_wrong(got: Answer, want: Answer, others: Sequence[Answer], allowance: Allowance) -> Fact | None:
    """Which of the two who differ is wrong, and who says so; None where nobody else knows anything."""
    camps: tuple[list[Answer], list[Answer]] = ([got], [want])
    elsewhere: list[Answer] = []
    blurred: list[Answer] = []
    for other in others:
        sides = [other.agrees(one, allowance) for one in (got, want)]
        if all(sides) or (other.is_too_uncertain(allowance) and not any(sides)):
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
    """Whether a verdict is that this one is wrong, alone or with others, and somebody independent knows better."""
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
    """The largest relative difference from the first."""
    base = np.abs(answers[0].values)
    with np.errstate(all="ignore"):
        relative = [np.abs(one.values - answers[0].values) / base for one in answers[1:]]
    finite = [r[np.isfinite(r)] for r in relative]
    return max((float(r.max()) for r in finite if r.size), default=0.0)
