"""From paths, or the text of a file, to cases and errors."""

from __future__ import annotations

import gc
import heapq
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from gradcheck.errors import InvalidCase, Place
from gradcheck.language.case import Case, Loaded
from gradcheck.language.loader.build import build
from gradcheck.language.loader.compose import Composer
from gradcheck.language.loader.discover import Target, discover, read
from gradcheck.language.loader.limits import DEFAULT, Limits
from gradcheck.language.loader.text import decode, documents
from gradcheck.language.suggest import did_you_mean


def load(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    select: Iterable[str] | None = None,
    limits: Limits = DEFAULT,
) -> Loaded:
    """Every case at or below the paths, and every error, in the order of the paths, files and documents.

    A path is a file, a folder (searched for .yaml and .yml, hidden folders left out), or `FILE::NAME`. `select` keeps
    the cases with these ids alone. Whatever is wrong with a path or a file is among the errors; nothing is raised.
    """
    paths = [paths] if isinstance(paths, (str, os.PathLike)) else paths
    cases: dict[str, Case] = {}
    errors: list[InvalidCase] = []
    with _uncollected():
        for target in discover(paths):
            found, wrong = ([], [target]) if isinstance(target, InvalidCase) else _load_target(target, limits)
            cases.update({case.id: case for case in found})
            errors += wrong
    wanted = None if select is None else set(select)
    return Loaded(tuple(c for c in cases.values() if wanted is None or c.id in wanted), tuple(errors))


def load_text(text: str, file: str, limits: Limits = DEFAULT) -> tuple[list[Case], list[InvalidCase]]:
    """The valid cases of a file, and the errors of the others by position. A file without a case is an error."""
    composer = Composer(file, limits)
    cases: dict[str, Case] = {}
    errors: list[InvalidCase] = []
    stem = os.path.splitext(os.path.basename(file))[0]
    number = 0
    for piece, first in documents(text):
        number += 1
        case, wrong = _load_document(composer, piece, first, stem if number == 1 else f"{stem}-{number}")
        errors += wrong
        if case is None:
            continue
        if case.name in cases:
            place = case.places.get("name", case.place)
            hint = f"the case on line {cases[case.name].place.line} has it already"
            errors.append(InvalidCase(f"the name '{case.name}' is used twice in this file", place=place, hint=hint))
        else:
            cases[case.name] = case
    if not number:
        hint = "a case begins with 'inputs:'"
        errors.append(InvalidCase("the file holds no case", place=Place(file, 1, 1), hint=hint))
    return list(cases.values()), _shown(errors, limits.errors)


@contextmanager
def _uncollected() -> Iterator[None]:
    """Without looking for cyclic garbage, which takes half the time: cases are trees, and there is none."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _load_target(target: Target, limits: Limits) -> tuple[list[Case], list[InvalidCase]]:
    try:
        text = decode(read(target.file, limits), target.file)
    except InvalidCase as error:
        return [], [error]
    cases, errors = load_text(text, target.file, limits)
    if target.name is None:
        return cases, errors
    named = [case for case in cases if case.name == target.name]
    if named or errors:  # what is wrong with the file's other cases is not asked for
        return named, [] if named else errors
    known = [case.name for case in cases]
    hint = did_you_mean(target.name, known, f"its cases are {', '.join(known[:10])}")
    return [], [InvalidCase(f"no case is named '{target.name}'", place=Place(target.file), hint=hint)]


def _load_document(composer: Composer, piece: str, first: int, name: str) -> tuple[Case | None, list[InvalidCase]]:
    composer.errors = []
    try:
        document = composer.compose(piece, first)
    except InvalidCase as error:
        return None, [*composer.errors, error]
    if document is None:
        return None, composer.errors
    case, errors = build(document, composer.file, name, composer.limits)
    return (case if not composer.errors else None), composer.errors + errors


def _shown(errors: list[InvalidCase], most: int) -> list[InvalidCase]:
    """The errors by position, of very many the first, and how many more there are."""
    if len(errors) <= 1:
        return errors
    shown = heapq.nsmallest(most, errors, key=lambda error: error.place)
    if len(errors) > most:
        message = f"and {len(errors) - most:,} more errors in this file"
        shown.append(InvalidCase(message, place=Place(shown[-1].place.file)))
    return shown
