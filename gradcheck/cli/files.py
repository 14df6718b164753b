"""Files that a command writes: whole or not at all, and never over what is no report of ours."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable
from pathlib import Path

from gradcheck.errors import UsageError

_ELSEWHERE = "name another file"


def prepare_file(path: Path) -> None:
    """Make the folders above; refuse before any work is done what could not be written after it, or would be lost."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        known = os.stat(path) if path.exists() else None
    except OSError as error:
        raise UsageError(f"cannot write '{path}': {error.strerror}", hint=_ELSEWHERE) from error
    if known and stat.S_ISDIR(known.st_mode):
        raise UsageError(f"cannot write '{path}': it is a folder", hint="name a file in it")
    if not os.access(path if known else path.parent, os.W_OK):
        raise UsageError(f"cannot write '{path}': permission denied", hint=_ELSEWHERE)
    if known and stat.S_ISREG(known.st_mode) and known.st_size and not _is_report(path):
        raise UsageError(
            f"'{path}' holds something else than a report of gradcheck", hint=f"{_ELSEWHERE}, or remove this one first"
        )


def _is_report(path: Path) -> bool:
    from gradcheck.reports.recognition import LOOKED_AT, is_report  # here, since most runs write no file

    try:
        with open(path, "rb") as file:
            begin = file.read(LOOKED_AT)
            file.seek(max(0, os.fstat(file.fileno()).st_size - LOOKED_AT))
            end = file.read()
    except OSError as error:
        raise UsageError(f"cannot read '{path}', which is there already: {error.strerror}", hint=_ELSEWHERE) from error
    return is_report(begin.decode("utf-8", "replace"), end.decode("utf-8", "replace"))


def refuse_inputs(outputs: Iterable[Path], inputs: Iterable[str]) -> None:
    """Refuse an output that is one of these files, by whatever name. Raises UsageError."""
    written = {_identity(path): path for path in outputs}
    for file in inputs if written else ():
        path = written.get(_identity(Path(file)))
        if path is not None:
            raise UsageError(f"'{path}' is read by this run, and cannot hold its report", hint=_ELSEWHERE)


def resolved(path: str | os.PathLike[str]) -> Path:
    """Where links lead to, also where they lead in a circle, which `Path.resolve` does not take."""
    return Path(os.path.realpath(path))


def _identity(path: Path) -> object:
    """The same for two names of one file."""
    try:
        known = os.stat(path)
    except (OSError, ValueError):
        return resolved(path)
    return known.st_dev, known.st_ino


def write_file(path: Path, text: str) -> None:
    """The whole text or nothing of it, in place of what was there before. Raises UsageError."""
    target = resolved(path)  # a link stays a link
    data = text.encode("utf-8", "backslashreplace")
    try:
        if target.exists() and not target.is_file():  # /dev/null, a pipe
            target.write_bytes(data)
        else:
            _replace(target, data)
    except OSError as error:
        raise UsageError(f"cannot write '{path}': {error.strerror}") from error


def _replace(path: Path, data: bytes) -> None:
    """By way of a file beside it, which takes its place once it is complete."""
    import tempfile  # here, since most commands write no file

    descriptor, name = tempfile.mkstemp(prefix=f".{path.name[:100]}.", dir=path.parent)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
        os.chmod(name, stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o666 & ~_umask())
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
