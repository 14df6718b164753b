"""Files that a command writes: whole, and only over gradcheck's own files."""

from __future__ import annotations

import codecs
import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from gradcheck.errors import UsageError
from gradcheck.project_links import LinkRefused
from gradcheck.reports import PROBE_SIZE, is_report
from gradcheck.safe_files import MayReplace, is_open, open_parent_folder, rewrite, write

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
    return is_report(file.read(PROBE_SIZE).decode("utf-8", "replace"))


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
    with _reported_errors(path):
        write(path, text.encode("utf-8", "backslashreplace"), may_replace)


@contextmanager
def _reported_errors(path: Path) -> Iterator[None]:
    """Raise UsageError for a file that cannot be written."""
    try:
        yield
    except OSError as error:
        hint = "name where it leads instead" if isinstance(error, LinkRefused) else ""
        raise UsageError(f"cannot write '{path}': {error.strerror}", hint=hint) from error


@dataclass(frozen=True, slots=True)
class CaseFileText:
    """The text of a case file as cases are read from it, to be edited."""

    path: Path
    text: str
    _data: bytes

    @classmethod
    def read(cls, path: Path) -> CaseFileText:
        """Return the text of a file. Raises InvalidCase."""
        from gradcheck.language.loader.case_files import read
        from gradcheck.language.loader.yaml_document import DEFAULT_LIMITS
        from gradcheck.language.loader.yaml_text import decode

        data = read(os.fspath(path), DEFAULT_LIMITS)
        return cls(path, decode(data, os.fspath(path)), data)

    def replace(self, text: str) -> None:
        """Write a new text, with the file's line ends. Raises UsageError.

        The file must hold what was read: a file that an editor has emptied, to write it anew, is not ours to write.
        """
        ends = set(re.findall(rb"\r\n|\r|\n", self._data))
        if len(ends) > 1:
            raise UsageError(f"cannot write '{self.path}': its lines end in several ways", hint="save it with one")
        mark = codecs.BOM_UTF8 if self._data.startswith(codecs.BOM_UTF8) else b""
        after = mark + text.encode("utf-8").replace(b"\n", *ends or {b"\n"})
        with _reported_errors(self.path):
            rewrite(self.path, self._data, after)
