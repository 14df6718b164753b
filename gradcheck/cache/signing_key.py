"""A key in the user's home: entries of a downloaded folder lack its sign."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Mapping
from pathlib import Path

from gradcheck.project_links import is_project, project_root
from gradcheck.safe_files import Folder

_NAME = "secret"
#: The bytes of a key.
LENGTH = 32


def signing_key(environment: Mapping[str, str] = os.environ) -> bytes | None:
    """Return the user's key, made if there is none; None if it is not private."""
    try:
        above = _folder_above(environment)
        above.mkdir(parents=True, exist_ok=True, mode=0o700)
        with Folder(os.fspath(above), link=True) as outer, outer.open_subfolder("gradcheck", create=True) as folder:
            return _read(folder) or _create_key(folder)
    except (OSError, RuntimeError):
        return None


def refusal(folder: Path, environment: Mapping[str, str] = os.environ) -> str:
    """Return a warning if the key lies in the project; else an empty text."""
    # a clone, or an archive, could contain both: the key, and entries that are signed with it; its folders may be
    # projects too, but one around the home is the user's own
    try:
        above = _folder_above(environment)
    except (OSError, RuntimeError):
        return ""
    home, outer = os.path.expanduser("~"), Path(os.path.abspath(folder)).parents
    projects = [os.fspath(one) for one in outer if is_project(one) and not _is_inside(home, one)]
    project = next((one for one in (project_root(folder), *projects) if _is_inside(above, one)), None)
    if project is None:
        return ""
    key = above / "gradcheck" / _NAME
    return (
        f"'{key}' lies in the project '{project}', which could bring a key of its own: the run goes on without a cache;"
        " set XDG_CACHE_HOME to a folder elsewhere"
    )


def trusted_key(folder: Path, environment: Mapping[str, str] = os.environ) -> bytes | None:
    """Return the key for files of a cache folder; None if there is none."""
    return None if refusal(folder, environment) else signing_key(environment)


def _is_inside(path: str | os.PathLike[str], folder: str | os.PathLike[str]) -> bool:
    """Return whether a path is below a folder, by any of their names."""
    return any(Path(name).is_relative_to(root) for name in _names(path) for root in _names(folder))


def _names(path: str | os.PathLike[str]) -> tuple[str, str]:
    return os.path.abspath(path), os.path.realpath(path)


def _folder_above(environment: Mapping[str, str]) -> Path:
    """Return the user's cache folder. Raises OSError or RuntimeError."""
    stated = environment.get("XDG_CACHE_HOME", "")
    return Path(stated) if os.path.isabs(stated) else Path.home().resolve(strict=True) / ".cache"


def _read(folder: Folder) -> bytes | None:
    """Return the key; None for no file. Raises PermissionError if not private."""
    try:
        with folder.read(_NAME) as stream:
            about = os.fstat(stream.fileno())
            found = stream.read(LENGTH + 1)
    except FileNotFoundError:
        return None
    if len(found) != LENGTH or not _is_private(about):
        raise PermissionError(f"{folder.path}/{_NAME} is no secret")
    return found


def _is_private(about: os.stat_result) -> bool:
    """Return whether only this user may read or write it, if known."""
    if not hasattr(os, "geteuid"):
        return True
    return about.st_uid == os.geteuid() and not about.st_mode & (stat.S_IRWXG | stat.S_IRWXO)


def _create_key(folder: Folder) -> bytes | None:
    """Write a new key atomically, and return it; the later of two wins."""
    about = folder.entry_stat(os.curdir)
    if about is None or (hasattr(os, "geteuid") and about.st_uid != os.geteuid()):
        return None  # such as root's in a user's home
    folder.replace(_NAME, secrets.token_bytes(LENGTH), mode=0o600)
    return _read(folder)
