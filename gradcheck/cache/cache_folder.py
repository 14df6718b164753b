"""The folder for the cache and for small cases; never for version control.

A folder that comes with downloaded cases may hold anything in its place. Nothing here follows a link; a link in the
place of the folder itself disables the cache, and so does a folder of another user, who could exchange files in use.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gradcheck.project_links import belongs_to_others
from gradcheck.safe_files import Folder

FOLDER = Path(".gradcheck_cache")
_IGNORED = ".gitignore"


@contextmanager
def open_cache(folder: Path = FOLDER, *, create: bool = False) -> Iterator[Folder]:
    """Open the folder, or make it with its `.gitignore`. Raises OSError."""
    with (
        Folder(os.fspath(folder.parent), link=True) as outer,
        outer.open_subfolder(folder.name, create=create) as opened,
    ):
        if belongs_to_others(folder, folder.parent):
            raise PermissionError(errno.EPERM, "it belongs to another user", os.fspath(folder))
        if create and opened.may_write(_IGNORED, lambda _: False):  # a full disk leaves an empty one
            opened.replace(_IGNORED, b"*\n")
        yield opened


def folder_warning(folder: Path = FOLDER) -> str:
    """Return a warning if the folder cannot be trusted; else an empty text."""
    if folder.is_symlink():
        return f"'{folder}' is a link, which is not followed: the run goes on without a cache; remove the link"
    if folder.exists() and belongs_to_others(folder, folder.parent):
        return f"'{folder}' belongs to another user: the run goes on without a cache; remove the folder"
    return ""
