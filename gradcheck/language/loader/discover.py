"""From the paths a user gives to the files to read, and to their bytes."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePath

from gradcheck.errors import InvalidCase, Place
from gradcheck.language.loader.limits import Limits
from gradcheck.language.suggest import nearest

SUFFIXES = (".yaml", ".yml")
#: So that opening a pipe does not wait for a writer.
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


@dataclass(frozen=True, slots=True)
class Target:
    """A file to read, by the name that its cases get their ids from; `name` selects one of them."""

    file: str
    name: str | None = None


def discover(paths: Iterable[str | os.PathLike[str]]) -> Iterator[Target | InvalidCase]:
    """Every case file at or below the paths, in order and once, or why there is none.

    Hidden directories are left out, and links to directories are not followed.
    """
    seen: set[tuple[str, str | None]] = set()
    for path in paths:
        for target in _targets(os.fspath(path)):
            if isinstance(target, Target):
                key = (os.path.abspath(target.file), target.name)
                if key in seen or (key[0], None) in seen:
                    continue
                seen.add(key)
            yield target


def split_id(path: str) -> tuple[str, str | None]:
    """`FILE::NAME` in two; no name where the whole is a path. Either part may hold a `::` itself: the file is the
    shortest that is there."""
    if "::" not in path or os.path.lexists(path):
        return path, None
    parts = path.split("::")
    files = ("::".join(parts[:count]) for count in range(1, len(parts)))
    file = next((file for file in files if os.path.isfile(file)), parts[0])
    return file, path[len(file) + 2 :]


def _targets(path: str) -> Iterator[Target | InvalidCase]:
    path, name = split_id(path)
    shown = PurePath(path).as_posix() if path else ""
    try:
        is_directory = stat.S_ISDIR(os.stat(path).st_mode)
    except (OSError, ValueError) as error:
        yield unreadable(shown or "''", error)
        return
    if not is_directory:
        if path.lower().endswith(SUFFIXES):
            yield Target(shown, name)
        else:
            yield InvalidCase(
                "not a case file", place=Place(shown), hint="cases are in files that end in .yaml or .yml"
            )
    elif name is not None:
        yield InvalidCase(f"a folder has no case '{name}'", place=Place(shown), hint="write FILE::NAME")
    else:
        yield from _below(path)


def _below(directory: str) -> Iterator[Target | InvalidCase]:
    """The case files below a directory, sorted by their path, and the folders that cannot be read."""
    found: list[str] = []
    errors: list[InvalidCase] = []

    def note(error: OSError) -> None:
        errors.append(unreadable(PurePath(error.filename).as_posix(), error))

    for folder, folders, files in os.walk(directory, onerror=note):
        folders[:] = [name for name in folders if not name.startswith(".")]
        prefix = PurePath(folder).as_posix() + "/"
        prefix = {"./": "", "//": "/"}.get(prefix, prefix)
        found += [prefix + file for file in files if file.lower().endswith(SUFFIXES)]
    yield from errors
    yield from (Target(file) for file in sorted(found, key=lambda file: file.split("/")))


def read(file: str, limits: Limits) -> bytes:
    """The bytes of a regular file. Raises InvalidCase where there is none, or too large a one."""
    try:
        descriptor = os.open(file, _FLAGS)
        with open(descriptor, "rb", buffering=0) as stream:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise InvalidCase("not a regular file", place=Place(file), hint="cases are read from files and folders")
            raw = stream.read(min(status.st_size, limits.bytes) + 1)
    except (OSError, ValueError) as error:
        raise unreadable(file, error) from None
    if len(raw) > limits.bytes:
        message = f"the file is larger than {limits.bytes:,} bytes"
        raise InvalidCase(message, place=Place(file), hint="draw large tensors, as in 'x: randn(1000, 1000)'")
    return raw


def unreadable(file: str, error: OSError | ValueError) -> InvalidCase:
    """Why a path cannot be read, and which was probably meant."""
    if not isinstance(error, FileNotFoundError):
        reason = (error.strerror if isinstance(error, OSError) else str(error)) or "unknown reason"
        return InvalidCase(f"cannot be read: {reason[0].lower()}{reason[1:]}", place=Place(file))
    if os.path.islink(file):
        return InvalidCase("the link leads nowhere", place=Place(file))
    parent = os.path.dirname(file)
    try:
        close = nearest(os.path.basename(file), os.listdir(parent or "."))
    except OSError:
        close = ""
    hint = f"did you mean '{PurePath(parent, close).as_posix()}'?" if close else ""
    return InvalidCase("there is no such file or folder", place=Place(file), hint=hint)
