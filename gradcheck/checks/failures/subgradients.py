"""Who stands alone: what a failed comparison comes to, once everybody who knows has been asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Room:
    """What two who agree may differ by: absolute, an element each, and relative to the larger of the two."""

    absolute: np.ndarray
    relative: float = 0.0

    def around(self, *answers: np.ndarray) -> np.ndarray:
        """In absolute numbers."""
        sizes = [np.where(np.isfinite(answer), np.abs(answer), 0.0) for answer in answers]
        found: np.ndarray = self.absolute + self.relative * np.maximum.reduce(sizes)
        return found


@dataclass(frozen=True, slots=True)
class Witness:
    """Somebody's answer at the disputed elements. `error` is an error bar, absolute, for those who have one."""

    name: str
    answer: np.ndarray
    error: np.ndarray | float = 0.0
    independent: bool = False  # an oracle: it decides between two that disagree

    def agrees(self, other: Witness, room: Room) -> bool:
        """Whether both may be right."""
        allowed = room.around(self.answer, other.answer)
        with np.errstate(all="ignore"):
            near = np.abs(self.answer - other.answer) <= allowed + self.error + other.error
        same = (self.answer == other.answer) | (np.isnan(self.answer) & np.isnan(other.answer))
        return bool(np.all(near | same))

    def is_blurred(self, room: Room) -> bool:
        """Whether the error bar is wider than what is allowed."""
        return not bool(np.all(self.error <= room.around(self.answer)))


def sentence(got: Witness, want: Witness, others: Sequence[Witness], room: Room) -> str:
    """Which of the two who differ is wrong, and who says so; empty where nobody else knows anything."""
    camps: tuple[list[Witness], list[Witness]] = [got], [want]
    elsewhere: list[Witness] = []
    blurred: list[Witness] = []
    for other in others:
        sides = [other.agrees(one, room) for one in (got, want)]
        if all(sides) or (other.is_blurred(room) and not any(sides)):
            blurred.append(other)
        elif any(sides):
            camps[sides.index(True)].append(other)
        elif not other.is_blurred(room):
            elsewhere.append(other)
    mine, theirs = camps
    if len(mine) == len(theirs) == 1:
        return _nobody(got, want, elsewhere, blurred)
    if len(mine) > 1 and len(theirs) > 1:
        return _parted(mine, theirs)
    alone, many = (got, theirs) if len(mine) == 1 else (want, mine)
    agreed = f"{_names(many)} agree{_closeness(many)}"
    if alone is want and len(many) == 2 and many[1].independent:
        return f"{want.name} and {got.name} differ, {many[1].name} sides with {got.name}{_closeness(many)}"
    return f"{alone.name} is wrong: {agreed}"


def _nobody(got: Witness, want: Witness, elsewhere: Sequence[Witness], blurred: Sequence[Witness]) -> str:
    if elsewhere:
        return f"{_names([got, want, *elsewhere])} all differ"
    for one in blurred:
        if one.independent:
            bar = float(np.max(one.error))
            reason = f"its error bar is {bar:.1g}" if np.isfinite(bar) else "it does not converge there"
            return f"{got.name} and {want.name} differ, and {one.name} cannot tell: {reason}"
    return ""


def _parted(mine: Sequence[Witness], theirs: Sequence[Witness]) -> str:
    judges = [one for one in (*mine, *theirs) if one.independent]
    if len(judges) == 1:
        wrong, right = (theirs, mine) if judges[0] in mine else (mine, theirs)
        verb = "is" if len(wrong) == 1 else "are"
        return f"{_names(wrong)} {verb} wrong together: {_names(right)} agree{_closeness(right)}"
    return f"{_names(mine)} stand against {_names(theirs)}"


def _names(witnesses: Sequence[Witness]) -> str:
    *first, last = dict.fromkeys(one.name for one in witnesses)
    return f"{', '.join(first)} and {last}" if first else last


def _closeness(witnesses: Sequence[Witness]) -> str:
    """` to 2e-16`: the largest relative difference from the first."""
    base = np.abs(witnesses[0].answer)
    with np.errstate(all="ignore"):
        relative = [np.abs(one.answer - witnesses[0].answer) / base for one in witnesses[1:]]
    finite = [r[np.isfinite(r)] for r in relative]
    worst = max((float(r.max()) for r in finite if r.size), default=0.0)
    return f" to {worst:.0e}" if worst else " exactly"
