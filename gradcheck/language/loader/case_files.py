"""Paths and texts of files to cases and errors."""

from __future__ import annotations

import gc
import heapq
import os
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import PurePath

from gradcheck.errors import Hint, InvalidCase, Place
from gradcheck.language.case import STDIN, Case, Loaded
from gradcheck.language.crash import crash_at
from gradcheck.language.loader.case_builder import build_case
from gradcheck.language.loader.compose import Composer
from gradcheck.language.loader.name_scope import MOST_ERRORS
from gradcheck.language.loader.yaml_document import DEFAULT_LIMITS, Limits, shorten
from gradcheck.language.loader.yaml_text import decode, documents
from gradcheck.language.shell_words import quoted, shell_word
from gradcheck.language.suggest import did_you_mean, nearest
from gradcheck.safe_files import FileTooLarge, NotRegular, read_regular

SUFFIXES = (".yaml", ".yml")
#: Stands between the file and the name in an id. No file has it, so that an id names one case.
_SEPARATOR = "::"
_MAX_MESSAGE_LENGTH = 300
_DRAW = "draw large tensors, as in 'x: randn(1000, 1000)'"


@dataclass(frozen=True, slots=True)
class Target:
    """A file by the name in the ids of its cases, and one case's name."""

    file: str
    name: str | None = None


def discover(paths: Iterable[str | os.PathLike[str]]) -> Iterator[Target | InvalidCase]:
    """Yield every case file at or below the paths, once and in order.

    A path without a case file yields an error. Hidden folders are left out; links to folders are not followed.
    """
    paths = list(paths)
    if len(paths) == 1:
        yield from _targets(os.fspath(paths[0]))
        return
    seen: set[tuple[str, str | None]] = set()
    real_folder = cache(os.path.realpath)
    for path in paths:
        for target in _targets(os.fspath(path)):
            if isinstance(target, Target):
                folder, name = os.path.split(target.file)  # beyond a link, '..' leads elsewhere than in the text
                key = (os.path.join(real_folder(folder), name), target.name)
                if key in seen or (key[0], None) in seen:
                    continue
                seen.add(key)
            yield target


def split_id(path: str) -> tuple[str, str | None]:
    """Split `FILE::NAME`; the name is None if the whole is a path.

    Either part may hold a `::` itself: the file is the shortest one that exists. (No case of a file with `::` is read.)
    """
    if "::" not in path or os.path.lexists(path):
        return path, None
    parts = path.split("::")
    files = ("::".join(parts[:count]) for count in range(1, len(parts)))
    file = next((file for file in files if os.path.isfile(file)), parts[0])
    return file, path[len(file) + 2 :]


def _targets(path: str) -> Iterator[Target | InvalidCase]:
    path, name = split_id(path)
    if path == STDIN:
        yield Target(STDIN, name)
        return
    shown = _path_in_ids(path)
    if _SEPARATOR in path:
        yield _ambiguous(shown)
        return
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


def _path_in_ids(path: str) -> str:
    """Return the path as ids and messages have it, which is never an option."""
    shown = PurePath(path).as_posix() if path else ""
    return f"./{shown}" if shown.startswith("-") else shown


def _ambiguous(file: str) -> InvalidCase:
    """Return the error of a path whose ids could be those of another file."""
    hint = f"rename it: '{_SEPARATOR}' ends the file in the id of a case"
    return InvalidCase(f"the path has '{_SEPARATOR}' in it", place=Place(file), hint=hint)


def _below(directory: str) -> Iterator[Target | InvalidCase]:
    """Yield the case files below a folder by path; first unreadable folders."""
    found: list[str] = []
    for folder, files in folders_below(directory):
        if isinstance(files, OSError):
            yield unreadable(PurePath(folder).as_posix(), files)
            continue
        prefix = _path_in_ids(folder) + "/"
        prefix = {"./": "", "//": "/"}.get(prefix, prefix)
        cases = (prefix + file for file in files if file.lower().endswith(SUFFIXES))
        found += [f"./{file}" if file.startswith("-") else file for file in cases]
    for file in sorted(found, key=lambda file: file.split("/")):
        yield _ambiguous(file) if _SEPARATOR in file else Target(file)


def folders_below(directory: str) -> Iterator[tuple[str, list[str] | OSError]]:
    """Yield a folder and all below, each with the names of its files.

    An unreadable folder has its error. Hidden ones are left out, and links to folders are not followed. `os.walk` is
    recursive before Python 3.12: a deep folder ends it.
    """
    waiting = [directory]
    while waiting:
        folder = waiting.pop()
        files: list[str] = []
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if not _is_folder(entry):
                        files.append(entry.name)
                    elif not entry.name.startswith(".") and not entry.is_symlink():
                        waiting.append(entry.path)
        except OSError as error:
            yield folder, error
        else:
            yield folder, files


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link in a circle
        return False


def read(file: str, limits: Limits) -> bytes:
    """Return the bytes of a regular file; raise InvalidCase if unreadable."""
    try:
        if file != STDIN:
            return read_regular(file, limits.bytes)
        if sys.stdin is None:
            raise InvalidCase("the standard input is closed", place=Place(file))
        raw = sys.stdin.buffer.read(limits.bytes + 1)
    except (NotRegular, FileTooLarge) as error:
        hint = _DRAW if isinstance(error, FileTooLarge) else "cases are read from files and folders"
        raise InvalidCase(str(error.strerror), place=Place(file), hint=hint) from None
    except (OSError, ValueError) as error:
        raise unreadable(file, error) from None
    if len(raw) > limits.bytes:
        raise InvalidCase(f"the file is larger than {limits.bytes:,} bytes", place=Place(file), hint=_DRAW)
    return raw


def unreadable(file: str, error: OSError | ValueError) -> InvalidCase:
    """Return the error of a path that cannot be read, with a near path."""
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
    hint = f"did you mean {quoted(PurePath(parent, close).as_posix())}?" if close else ""
    before = file.partition(":")[0]
    if ":" in file and os.path.isfile(before):  # a place, or a case with one colon
        rest = file[len(before) :].strip(":")
        is_place = rest.replace(":", "").isdigit()
        hint = f"did you mean {quoted(before)}?" if is_place else f"write {shell_word(f'{before}::{rest}')}"
    elif there := next((file + suffix for suffix in SUFFIXES if os.path.isfile(file + suffix)), ""):
        hint = f"did you mean {quoted(there)}?"
    return InvalidCase("there is no such file or folder", place=Place(file), hint=hint)


def load(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    select: Iterable[str] | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> Loaded:
    """Return every case at or below the paths, and every error, in order.

    A path is a file, a folder (searched for .yaml and .yml, hidden folders left out), or `FILE::NAME`. `select` keeps
    only the cases with these ids. Raises nothing: the mistakes in a path or a file are among the errors, and so is a
    crash over a file (`Crash`), which costs that file alone.
    """
    paths = [paths] if isinstance(paths, (str, os.PathLike)) else paths
    cases: dict[tuple[str, str], Case] = {}
    errors: list[InvalidCase] = []
    with _garbage_collection_off():
        for target in discover(paths):
            found, wrong = ([], [target]) if isinstance(target, InvalidCase) else _load_file(target, limits)
            cases.update({(case.place.file, case.name): case for case in found})
            errors += wrong
    wanted = None if select is None else set(select)
    return Loaded(tuple(c for c in cases.values() if wanted is None or c.id in wanted), tuple(errors))


def _load_file(target: Target, limits: Limits) -> tuple[list[Case], list[InvalidCase]]:
    try:
        text = decode(read(target.file, limits), target.file)
        return _selected_case(target, *load_text(text, target.file, limits))
    except InvalidCase as error:
        return [], _first_errors([error], limits.errors)
    except Exception as error:
        return [], [crash_at(error, Place(target.file, 1, 1))]


def load_text(text: str, file: str, limits: Limits = DEFAULT_LIMITS) -> tuple[list[Case], list[InvalidCase]]:
    """Return the valid cases of a file, and the errors of the others.

    Errors are sorted by place. A file without a case is an error, and so is a name of several cases, of which none is
    returned. After `MOST_ERRORS` errors the rest is not read.
    """
    composer = Composer(file, limits)
    cases: dict[str, Case] = {}
    repeated: set[str] = set()
    errors: list[InvalidCase] = []
    stem = "stdin" if file == STDIN else os.path.splitext(os.path.basename(file))[0]
    number = 0
    for number, (piece, first) in enumerate(documents(text), 1):
        if len(errors) >= MOST_ERRORS:
            break
        case, wrong = _load_document(composer, piece, first, stem if number == 1 else f"{stem}-{number}")
        errors += wrong
        if case is not None and case.name in cases:
            place = case.places.get("name", case.place)
            hint = f"the case on line {cases[case.name].place.line} has it already"
            errors.append(InvalidCase(f"the name '{case.name}' is used twice in this file", place=place, hint=hint))
            repeated.add(case.name)
        elif case is not None:
            cases[case.name] = case
    if not number:
        hint = "a case begins with 'inputs:'"
        errors.append(InvalidCase("the file holds no case", place=Place(file, 1, 1), hint=hint))
    return [case for name, case in cases.items() if name not in repeated], _first_errors(errors, limits.errors)


def _load_document(composer: Composer, text: str, first: int, name: str) -> tuple[Case | None, list[InvalidCase]]:
    """Return the case of a document that begins on line `first`, or errors."""
    composer.errors = []
    place = Place(composer.file, first, 1)
    try:
        document = composer.compose(text, first)
        if document is None:
            return None, composer.errors
        place = document.place()
        case, wrong = build_case(document, composer.file, name, composer.limits)
    except InvalidCase as error:
        return None, [*composer.errors, error]
    except Exception as error:
        return None, [*composer.errors, crash_at(error, place)]
    return (None if composer.errors else case), [*composer.errors, *wrong]


@contextmanager
def _garbage_collection_off() -> Iterator[None]:
    """Stop garbage collection, which takes half the time: no case has cycles."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _selected_case(
    target: Target, cases: list[Case], errors: list[InvalidCase]
) -> tuple[list[Case], list[InvalidCase]]:
    if target.name is None:
        return cases, errors
    named = [case for case in cases if case.name == target.name]
    if named or errors:  # errors of other cases do not concern this one
        return named, [] if named else errors
    known = [case.name for case in cases]
    hint = did_you_mean(target.name, known, f"its cases are {', '.join(known[:10])}")
    return [], [InvalidCase(f"no case is named '{target.name}'", place=Place(target.file), hint=hint)]


def _first_errors(errors: list[InvalidCase], most: int) -> list[InvalidCase]:
    """Return the first errors by place, and the number of the others."""
    for error in errors:
        _shorten(error)
        error.__traceback__ = error.__cause__ = error.__context__ = None  # whose frames keep a parser alive
    if len(errors) <= 1:
        return errors
    shown = heapq.nsmallest(most, errors, key=lambda error: error.place)
    if len(errors) > most:
        message = f"and {len(errors) - most:,} more errors in this file"
        shown.append(InvalidCase(message, place=Place(shown[-1].place.file)))
    return shown


def _shorten(error: InvalidCase) -> None:
    if len(error.message) > _MAX_MESSAGE_LENGTH:
        error.message = shorten(error.message, _MAX_MESSAGE_LENGTH)
    if len(hint := error.hint) > _MAX_MESSAGE_LENGTH:
        text = shorten(hint, _MAX_MESSAGE_LENGTH)
        error.hint = Hint(text, hint.old, hint.new, hint.place) if isinstance(hint, Hint) else text
