"""From case files to Cases: YAML with a position for everything, read and checked to the last name."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from gradcheck.errors import InvalidCase, Place
from gradcheck.language.case import Case, Loaded
from gradcheck.language.loader.discover import Target, discover, read
from gradcheck.language.loader.files import load_text
from gradcheck.language.loader.limits import DEFAULT, Limits
from gradcheck.language.loader.text import decode
from gradcheck.language.suggest import did_you_mean

__all__ = ["Limits", "load", "load_text"]


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
