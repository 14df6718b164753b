"""Files that a command writes: whole, and only over gradcheck's own files."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import IO

from gradcheck.errors import UsageError
from gradcheck.reports import PROBE_SIZE, is_report
from gradcheck.safe_files import LinkRefused, MayReplace, is_open, open_parent_folder, write

_ELSEWHERE = "name another file"


def prepare_file(path: Path) -> None:
    """Make the folders above; reject a file that cannot be written later."""
    if is_open(path):
        return
    try:
        with open_parent_folder(path, create=True) as (folder, name):
            known = folder.entry_stat(name)
            if known and stat.S_ISDIR(known.st_mode):
                raise UsageError(f"cannot write '{path}': it is a folder", hint="name a file in it")
            if not folder.is_writable(name if known else os.curdir):
                raise UsageError(f"cannot write '{path}': permission denied", hint=_ELSEWHERE)
            if known and stat.S_ISREG(known.st_mode) and not folder.may_write(name, is_report_file):
                hint = f"{_ELSEWHERE}, or remove this one first"
                raise UsageError(f"'{path}' holds something else than a report of gradcheck", hint=hint)
    except OSError as error:
        raise UsageError(f"cannot write '{path}': {error.strerror}", hint=_ELSEWHERE) from error


def is_report_file(file: IO[bytes]) -> bool:
    """Return whether an open file holds a report of gradcheck."""
    begin = file.read(PROBE_SIZE)
    file.seek(max(0, os.fstat(file.fileno()).st_size - PROBE_SIZE))
    return is_report(begin.decode("utf-8", "replace"), file.read().decode("utf-8", "replace"))


def holds_text(text: str) -> MayReplace:
    """Return a test of whether an open file still holds this text."""
    data = text.encode("utf-8", "surrogateescape")
    return lambda file: file.read(len(data) + 1) == data


def forbid_overwriting_inputs(outputs: Iterable[Path], inputs: Iterable[str]) -> None:
    """Reject an output that is an input, by any name. Raises UsageError."""
    written = {_identity(path): path for path in outputs}
    for file in inputs if written else ():
        path = written.get(_identity(Path(file)))
        if path is not None:
            raise UsageError(f"'{path}' is read by this run, and cannot hold its report", hint=_ELSEWHERE)


def resolve_links(path: str | os.PathLike[str]) -> Path:
    """Return the target of links; `Path.resolve` does not take circular ones."""
    return Path(os.path.realpath(path))


def _identity(path: Path) -> object:
    try:
        known = os.stat(path)
    except (OSError, ValueError):
        return resolve_links(path)
    return known.st_dev, known.st_ino


def write_file(path: Path, text: str, may_replace: MayReplace) -> None:
    """Replace the file, if `may_replace` allows it. Raises UsageError."""
    try:
        write(path, text.encode("utf-8", "backslashreplace"), may_replace)
    except OSError as error:
        hint = "name where it leads instead" if isinstance(error, LinkRefused) else ""
        raise UsageError(f"cannot write '{path}': {error.strerror}", hint=hint) from error
