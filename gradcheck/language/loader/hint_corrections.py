"""Corrections from hints, applied to the text of a file.

Comments and layout stay. A correction that does not remove its error is left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gradcheck.errors import Hint, InvalidCase, Place
from gradcheck.language.case import Edit, apply_edits
from gradcheck.language.loader.case_files import load_text


@dataclass(frozen=True, slots=True)
class Correction:
    """A text at a place of a file, and its replacement.

    `error` is the message of the error to remove, if validating the file shows it.
    """

    place: Place
    old: str
    new: str
    error: str = ""


def correction_from_hint(hint: str, place: Place, error: str = "") -> Correction | None:
    """Return the correction that a hint proposes for an error, if any."""
    if not isinstance(hint, Hint) or not hint.old or hint.old == hint.new:
        return None
    return Correction(hint.place or place, hint.old, hint.new, error)


def apply_corrections(text: str, corrections: Iterable[Correction]) -> tuple[str, list[Correction]]:
    """Return the text with the corrections that fit, and these corrections.

    Of two that overlap, the first is applied.
    """
    lines = text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    made: dict[int, Correction] = {}
    end = -1
    for one in sorted(dict.fromkeys(corrections), key=lambda one: (one.place.line, one.place.column)):
        number = one.place.line - 1
        if not 0 <= number < len(lines):
            continue
        at = starts[number] + one.place.column - 1
        if at >= end and lines[number].startswith(one.old, one.place.column - 1):
            made[at] = one
            end = at + len(one.old)
    return apply_edits(text, [Edit(at, at + len(one.old), one.new) for at, one in made.items()]), list(made.values())


def apply_verified_corrections(text: str, file: str, corrections: Iterable[Correction]) -> tuple[str, list[Correction]]:
    """Return the text with the corrections that work, and these corrections.

    Each is tried alone. One that leaves its error, or causes another in its place, or names none, is left out.
    """
    taken: list[Correction] = []
    errors = load_text(text, file)[1]
    for one in sorted(
        corrections, key=lambda one: one.place, reverse=True
    ):  # from the end, so that the other places stay valid
        candidate, made = apply_corrections(text, [one])
        if not made or not one.error:
            continue
        left = load_text(candidate, file)[1]
        if not _is_worse(errors, left, one):
            text, errors = candidate, left
            taken.append(one)
    return text, taken[::-1]


def _is_worse(before: list[InvalidCase], after: list[InvalidCase], one: Correction) -> bool:
    """Return whether the error stays, or another stands at the correction."""
    start, end = one.place.column, one.place.column + len(one.new)
    here = any(e.place.line == one.place.line and start <= e.place.column < end for e in after)
    same = sum(error.message == one.error for error in after) >= sum(error.message == one.error for error in before)
    return same or here
