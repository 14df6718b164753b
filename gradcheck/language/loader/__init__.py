"""From case files to Cases: YAML, with a position for everything, checked to the last name."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import PurePath

from gradcheck.errors import InvalidCase, Place
from gradcheck.language.case import Case, Loaded
from gradcheck.language.loader.build import build
from gradcheck.language.loader.discover import discover
from gradcheck.language.loader.events import Composer
from gradcheck.language.loader.limits import DEFAULT, Limits
from gradcheck.language.loader.text import decode, documents

__all__ = ["Limits", "load"]


def load(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    select: Iterable[str] | None = None,
    limits: Limits = DEFAULT,
) -> Loaded:
    """Every case below the paths, and every error, in the order of the paths, files and documents.

    A path is a file, a directory (searched for .yaml and .yml, without hidden directories), or `FILE::NAME`.
    `select` keeps the cases with these ids alone. Nothing is raised for what a file says, or for a missing one.
    """
    if isinstance(paths, (str, os.PathLike)):
        paths = [paths]
    cases: dict[str, Case] = {}
    errors: list[InvalidCase] = []
    for target in discover(paths):
        if isinstance(target, InvalidCase):
            errors.append(target)
            continue
        found, wrong = load_file(target.file, limits)
        cases.update({case.id: case for case in found if target.name in (None, case.name)})
        errors += wrong
    return Loaded(tuple(cases.values()), tuple(errors))


def load_file(file: str, limits: Limits = DEFAULT) -> tuple[list[Case], list[InvalidCase]]:
    """The cases of one file and its errors."""
    try:
        with open(file, "rb") as stream:
            raw = stream.read(limits.bytes + 1)
    except OSError as error:
        return [], [InvalidCase(f"cannot be read: {error.strerror}", place=Place(file))]
    try:
        text = decode(raw, file)
    except InvalidCase as error:
        return [], [error]
    return load_text(text, file, limits)


def load_text(text: str, file: str, limits: Limits = DEFAULT) -> tuple[list[Case], list[InvalidCase]]:
    composer = Composer(file, limits)
    cases, errors = [], []
    stem = PurePath(file).stem
    for number, (piece, first) in enumerate(documents(text), start=1):
        try:
            document = composer.compose(piece, first)
        except InvalidCase as error:
            errors.append(error)
            continue
        case, wrong = build(document, file, stem if number == 1 else f"{stem}-{number}", limits)
        errors += composer.errors + wrong
        if case is not None and not composer.errors:
            cases.append(case)
        composer.errors = []
    return cases, errors
