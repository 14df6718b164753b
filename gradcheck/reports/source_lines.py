"""The reader's own lines: the text of a file at a problem's place."""

from __future__ import annotations

import linecache
import os
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from gradcheck.checks.result import Comparison, Diagnosis
from gradcheck.errors import Place
from gradcheck.language.case import Edit, TextSpan
from gradcheck.reports.safe_text import shared_length
from gradcheck.safe_files import read_regular

#: The most bytes of a file that is read for a line.
_MOST_BYTES = 10_000_000
#: The beginning of a YAML block text.
_BLOCK = re.compile(r"[|>][-+0-9]*\s*(#.*)?")


@dataclass(frozen=True, slots=True)
class SourceLocation:
    """A place, its line, and which characters are meant (none if unknown)."""

    place: Place
    line: str = ""
    start: int = 0
    length: int = 0


def location_of_claim(c: Comparison) -> SourceLocation:
    """Return where a claim goes wrong: its correction, its op, or all of it."""
    edit = suggested_edit(c)
    if edit is not None:
        return locate_part(c.place, TextSpan(c.formula, edit[1].start, edit[1].end))
    if c.part is not None:
        return locate_part(c.place, c.part)
    return locate_part(c.place, TextSpan(c.formula, 0, len(c.formula)) if c.formula else None)


def suggested_edit(c: Comparison) -> tuple[Diagnosis, Edit] | None:
    """Return the correction of a formula, and how to make it."""
    return next(((d, d.edit) for d in c.diagnoses if d.edit is not None and c.formula), None)


def locate_part(place: Place, part: TextSpan | None) -> SourceLocation:
    """Return a part of the text at a place; the text if the file changed."""
    if not place.line:
        return SourceLocation(place)
    lines = file_lines(place.file)
    if part is None:
        return _locate_value(place, lines[place.line - 1]) if place.line <= len(lines) else SourceLocation(place)
    if place.line > len(lines) or not _is_text_unchanged(lines, place, part.text):
        return SourceLocation(place, part.text, part.start, part.end - part.start)
    return _locate_folded_part(lines, place, part)


def _locate_value(place: Place, line: str) -> SourceLocation:
    """Return the value at the place, up to where YAML ends it on this line."""
    start = end = max(0, place.column - 1)
    quoted = line[start - 1 : start] if start and line[start - 1] in "'\"" else ""
    depth = 0
    for end, sign in enumerate(line[start:] + "\n", start):
        if quoted and sign == quoted:
            break
        if not quoted and (line.startswith(" #", end) or (depth == 0 and sign in ",]})")):
            break
        depth += (sign in "[{(") - (sign in "]})")
    return SourceLocation(place, line, start, len(line[start:end].rstrip()) if place.column else 0)


def relative_to_cwd(place: Place) -> Place:
    """Return the place with its file relative to the working directory."""
    path, here = Path(place.file), Path.cwd()
    file = path.relative_to(here).as_posix() if path.is_relative_to(here) else place.file
    return Place(file, place.line, place.column)


def has_text_at(place: Place, text: str) -> bool:
    """Return whether the file has this text at the place, on one line."""
    lines = file_lines(place.file)
    return 0 < place.line <= len(lines) and lines[place.line - 1].startswith(text, max(0, place.column - 1))


def _is_text_unchanged(lines: tuple[str, ...], place: Place, text: str) -> bool:
    """Return whether the file still has the text; blanks do not count."""
    if lines[place.line - 1].startswith(text, place.column - 1):
        return True
    rest = [lines[place.line - 1][place.column - 1 :], *lines[place.line : place.line + len(text)]]
    if _BLOCK.fullmatch(rest[0]):
        del rest[0]
    return "".join(" ".join(rest).split()).startswith("".join(text.split()))


def _locate_folded_part(lines: tuple[str, ...], place: Place, part: TextSpan) -> SourceLocation:
    """Return the place of a part of folded text, counting no blanks."""
    line, column = place.line - 1, place.column - 1
    if lines[line].startswith(part.text, column):
        place = Place(place.file, place.line, place.column + part.start)
        return SourceLocation(place, lines[line], place.column - 1, part.end - part.start)
    if _BLOCK.fullmatch(lines[line][column:]):
        line, column = line + 1, 0
    ahead = len("".join(part.text[: part.start].split()))
    while line < len(lines):
        while column < len(lines[line]) and (ahead or lines[line][column].isspace()):
            ahead -= not lines[line][column].isspace()
            column += 1
        if column < len(lines[line]):
            rest = lines[line][column:]
            same = rest[: shared_length(rest, part.text[part.start : part.end])].rstrip()
            return SourceLocation(Place(place.file, line + 1, column + 1), lines[line], column, max(1, len(same)))
        line, column = line + 1, 0
    return SourceLocation(place, lines[place.line - 1])


def file_lines(file: str) -> tuple[str, ...]:
    """Return the current lines of a file or of a notebook's cell, if readable."""
    path = Path(file)
    try:
        known = path.stat()
    except (OSError, ValueError):
        return tuple(line.rstrip("\n") for line in linecache.getlines(file)) if file in linecache.cache else ()
    return _read_lines(os.fspath(path.absolute()), known.st_mtime_ns, known.st_size)


@lru_cache(maxsize=64)
def _read_lines(file: str, changed: int, size: int) -> tuple[str, ...]:
    try:
        text = read_regular(file, _MOST_BYTES).decode("utf-8-sig", "replace")
    except OSError:
        return ()
    return tuple(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))


def path_in_repository(file: str) -> str:
    """Return the path from the repository's root, also from a subfolder."""
    here = Path.cwd()
    path = Path(os.path.normpath(here / file))
    workspace = os.environ.get("GITHUB_WORKSPACE")
    roots = [Path(workspace), Path(_real(workspace))] if workspace else []
    roots += [folder for folder in (here, *here.parents) if os.path.exists(folder / ".git")]
    for one in (path, Path(_real(str(path)))):  # a root may be reached through a link
        for root in roots:
            if one.is_relative_to(root):
                return one.relative_to(root).as_posix()
    return Path(os.path.relpath(path, roots[0] if roots else here)).as_posix()


def _real(path: str) -> str:
    """Return the real path; the path itself if no file can have this name."""
    try:
        return os.path.realpath(path)
    except ValueError:
        return path


def is_outside_repository(seen: str) -> bool:
    """Return whether a path from the repository's root leads out of it."""
    return seen == ".." or seen.startswith("../")
