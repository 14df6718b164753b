"""From the paths a user gives to the files to read, and which of their cases are wanted."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePath

from gradcheck.errors import InvalidCase, Place
from gradcheck.language.suggest import nearest

SUFFIXES = (".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class Target:
    """A file to read, by the name that cases get their ids from; `name` selects one of its cases."""

    file: str
    name: str | None = None


def discover(paths: Iterable[str | os.PathLike[str]]) -> Iterator[Target | InvalidCase]:
    """Every file below the paths, in order, or why there is none. Directories in hidden ones are left out."""
    for path in paths:
        text = os.fspath(path)
        name = None
        if "::" in text and not os.path.exists(text):
            text, name = text.split("::", 1)
        yield from _targets(text, name)


def _targets(text: str, name: str | None) -> Iterator[Target | InvalidCase]:
    shown = PurePath(text).as_posix() if text else ""
    try:
        mode = os.stat(text).st_mode
    except (OSError, ValueError) as error:
        yield _unreadable(shown or "''", error)
        return
    if stat.S_ISDIR(mode):
        if name is not None:
            yield InvalidCase(f"'{shown}' is a directory, of which no case can be selected", hint="write FILE::NAME")
        else:
            yield from (Target(file) for file in _below(text))
    elif not stat.S_ISREG(mode):
        yield InvalidCase("not a regular file", place=Place(shown))
    elif not text.lower().endswith(SUFFIXES):
        yield InvalidCase("not a case file", place=Place(shown), hint="cases are in files that end in .yaml or .yml")
    else:
        yield Target(shown, name)


def _below(directory: str) -> list[str]:
    """The case files below a directory, sorted by their path."""
    found = []
    for folder, names, files in os.walk(directory):
        names[:] = sorted(name for name in names if not name.startswith("."))
        found += [PurePath(folder, file).as_posix() for file in files if file.lower().endswith(SUFFIXES)]
    return sorted(found, key=lambda file: PurePath(file).parts)


def _unreadable(file: str, error: Exception) -> InvalidCase:
    if isinstance(error, FileNotFoundError):
        parent = os.path.dirname(file) or "."
        try:
            close = nearest(os.path.basename(file), os.listdir(parent))
        except OSError:
            close = ""
        hint = f"did you mean '{PurePath(parent, close).as_posix()}'?" if close else ""
        return InvalidCase("there is no such file or directory", place=Place(file), hint=hint)
    reason = error.strerror if isinstance(error, OSError) else str(error)
    return InvalidCase(f"cannot be read: {(reason or 'unknown reason').lower()}", place=Place(file))
