"""A key in the user's home. Entries are signed with it: a folder of entries that came with somebody's cases, or that
anybody else could write to, is worth nothing here."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
import tempfile
from collections.abc import Mapping
from pathlib import Path

#: Bytes of it.
LENGTH = 32


def secret(environment: Mapping[str, str] = os.environ) -> bytes | None:
    """The user's, made where there is none yet; None where none can be had that nobody else may write."""
    try:
        file = _file(environment)
        found = _read(file)
        return found if found is not None else _made(file)
    except (OSError, RuntimeError):
        return None


def _file(environment: Mapping[str, str]) -> Path:
    """Raises OSError or RuntimeError where there is no home."""
    stated = environment.get("XDG_CACHE_HOME", "")
    folder = Path(stated) if os.path.isabs(stated) else Path.home().resolve(strict=True) / ".cache"
    return folder / "gradcheck" / "secret"


def _read(file: Path) -> bytes | None:
    """None where it is not there. Raises PermissionError where it may be another's."""
    try:
        with open(file, "rb") as stream:
            about = os.fstat(stream.fileno())
            found = stream.read(LENGTH + 1)
    except FileNotFoundError:
        return None
    if len(found) != LENGTH or not _is_own(about):
        raise PermissionError(f"{file} is no secret")
    return found


def _is_own(about: os.stat_result) -> bool:
    """Whether it is this user's, and nobody else may read or write it, where the system knows of that."""
    if not hasattr(os, "geteuid"):
        return True
    return about.st_uid == os.geteuid() and not about.st_mode & (stat.S_IRWXG | stat.S_IRWXO)


def _made(file: Path) -> bytes | None:
    """A new one, complete before it has its name; of two that are made at once, the later."""
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if hasattr(os, "geteuid") and file.parent.stat().st_uid != os.geteuid():
        return None  # such as root's, in somebody's home
    descriptor, name = tempfile.mkstemp(dir=file.parent)
    try:
        with open(descriptor, "wb") as stream:
            stream.write(secrets.token_bytes(LENGTH))
        os.replace(name, file)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
    return _read(file)
