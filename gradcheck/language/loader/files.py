"""From one file's text to its cases and its errors, document by document."""

from __future__ import annotations

import heapq
import os

from gradcheck.errors import InvalidCase, Place
from gradcheck.language.case import Case
from gradcheck.language.loader.build import build
from gradcheck.language.loader.events import Composer
from gradcheck.language.loader.limits import DEFAULT, Limits
from gradcheck.language.loader.text import documents


def load_text(text: str, file: str, limits: Limits = DEFAULT) -> tuple[list[Case], list[InvalidCase]]:
    """The valid cases of a file, and the errors of the others by position. A file without a case is an error."""
    composer = Composer(file, limits)
    cases: dict[str, Case] = {}
    errors: list[InvalidCase] = []
    stem = os.path.splitext(os.path.basename(file))[0]
    number = 0
    for piece, first in documents(text):
        number += 1
        case, wrong = _load_document(composer, piece, first, stem if number == 1 else f"{stem}-{number}", limits)
        errors += wrong
        if case is None:
            continue
        if case.name in cases:
            line = cases[case.name].place.line
            place = case.places.get("name", case.place)
            hint = f"the case on line {line} has it already"
            errors.append(InvalidCase(f"the name '{case.name}' is used twice in this file", place=place, hint=hint))
        else:
            cases[case.name] = case
    if not number:
        errors.append(
            InvalidCase("the file holds no case", place=Place(file, 1, 1), hint="a case begins with 'inputs:'")
        )
    return list(cases.values()), _shown(errors, limits.errors)


def _load_document(
    composer: Composer, piece: str, first: int, name: str, limits: Limits
) -> tuple[Case | None, list[InvalidCase]]:
    composer.errors = []
    try:
        document = composer.compose(piece, first)
    except InvalidCase as error:
        return None, [*composer.errors, error]
    if document is None:
        return None, composer.errors
    case, errors = build(document, composer.file, name, limits)
    return (case if not composer.errors else None), composer.errors + errors


def _shown(errors: list[InvalidCase], most: int) -> list[InvalidCase]:
    """The errors by position, of very many the first, and how many more there are."""
    if len(errors) <= 1:
        return errors
    shown = heapq.nsmallest(most, errors, key=lambda error: error.place)
    if len(errors) > most:
        shown.append(
            InvalidCase(f"and {len(errors) - most:,} more errors in this file", place=Place(shown[-1].place.file))
        )
    return shown
