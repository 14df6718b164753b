"""Paths from the root of a repository, for tools that show code."""

from __future__ import annotations

import os
from pathlib import Path


def path_in_repository(file: str) -> str:
    """Return the path from the repository's root, also from a subfolder."""
    here = Path.cwd()
    path = Path(os.path.normpath(here / file))
    workspace = os.environ.get("GITHUB_WORKSPACE")
    roots = [Path(workspace), Path(_real(workspace))] if workspace else []
    roots += [folder for folder in (here, *here.parents) if os.path.exists(folder / ".git")]
    for one in (path, Path(_real(str(path)))):  # a root may be reached by way of a link
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
