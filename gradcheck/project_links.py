"""Links that are followed for writing: those that stay in their project.

A clone, or an archive, can contain links to any file of the user.
"""

from __future__ import annotations

import contextlib
import errno
import os
from pathlib import Path

#: A folder with one of these is the root of a project.
_MARKERS = (".git", ".hg", "pyproject.toml", "gradcheck.toml")
#: An environment of Python or conda has one of these.
_OF_ENVIRONMENTS = ("pyvenv.cfg", "conda-meta")


class LinkRefused(OSError):
    """A link on the way to a file leads out of the file's folder."""


def project_root(path: str | os.PathLike[str]) -> str:
    """Return the folder that a file belongs to.

    It is the nearest folder above the file with a marker, such as `.git`; else the working directory, if the file is
    below it; else the folder that was named. No marker of another user widens a project, as in `/tmp`.
    """
    folder, here = os.path.dirname(os.path.abspath(path)), os.getcwd()
    return _nearest_project(folder) or (here if _is_below(folder, here) else folder)


def _nearest_project(folder: str) -> str | None:
    here = os.getcwd()
    inside = (one for one in _upwards(folder) if is_project(one, of_others=one != here and _is_below(one, here)))
    return next(inside, None)


def _upwards(path: str) -> list[str]:
    """Return a path and all folders above."""
    return [path, *map(os.fspath, Path(path).parents)]


def is_project(folder: str | os.PathLike[str], *, of_others: bool = False) -> bool:
    """Return whether a folder has a marker, `of_others` also another user's."""
    markers = filter(os.path.lexists, (os.path.join(folder, name) for name in _MARKERS))
    return any(of_others or not belongs_to_others(marker, os.getcwd()) for marker in markers)


def _is_below(path: str, folder: str) -> bool:
    return os.path.join(path, "").startswith(os.path.join(folder, ""))


def belongs_to_others(path: str | os.PathLike[str], folder: str | os.PathLike[str]) -> bool:
    """Return whether the file belongs to another user.

    Root and the folder's owner are none. A link belongs to its owner and to that of its target. Anybody can write to
    `/tmp`, above and beside the files of others."""
    return hasattr(os, "geteuid") and not _owners(path) <= {0, os.geteuid(), *_owners(folder)}


def is_foreign(path: str | os.PathLike[str]) -> bool:
    """Return whether a folder is a project, or a path another user's."""
    return os.path.lexists(path) and (
        is_project(path, of_others=True) or belongs_to_others(path, os.path.dirname(os.path.abspath(path)))
    )


def _owners(path: str | os.PathLike[str]) -> set[int]:
    found = {os.lstat(path).st_uid}
    with contextlib.suppress(OSError):  # a link that leads nowhere
        found.add(os.stat(path).st_uid)
    return found


def is_environment(folder: str | os.PathLike[str]) -> bool:
    """Return whether a folder, perhaps in a clone, holds installed code."""
    holds = any(os.path.lexists(os.path.join(folder, name)) for name in _OF_ENVIRONMENTS)
    return holds or os.path.basename(folder) in ("node_modules", "site-packages", "dist-packages")


def resolve(path: str | os.PathLike[str]) -> tuple[str, str]:
    """Return a file's project and its real path in it. Raises LinkRefused."""
    named = os.path.abspath(path)
    links = [one for one in _upwards(named) if os.path.islink(one) and not _is_users_own(one)]
    real = os.path.realpath(named)
    for link in links:
        for target in dict.fromkeys((os.path.realpath(link), real)):  # `cases -> ..` leads to all below its project
            _check_link(link, target)
    holds_nothing = os.path.getsize(real) == 0 if os.path.exists(real) else named in links
    if links and holds_nothing:
        raise LinkRefused(errno.ELOOP, f"a link leads to '{real}', which holds nothing")
    above = os.path.realpath(project_root(named))
    return above, os.path.relpath(real, above)


def _is_users_own(link: str) -> bool:
    """Return whether no archive or clone contains a link, such as `/tmp`.

    Nor does it contain a link by which the user has reached the working directory."""
    logical = os.environ.get("PWD", "")
    is_on_the_way = link in _upwards(logical) and os.path.realpath(logical) == os.getcwd()
    return os.path.dirname(os.path.dirname(link)) == os.path.dirname(link) or is_on_the_way


def _check_link(link: str, real: str) -> None:
    """Raise LinkRefused for a link out of its project, or to what is hidden.

    Without a project around it a link must stay in its own folder."""
    folder = os.path.dirname(link)
    named = _nearest_project(folder)
    root = os.path.realpath(named or folder)
    if not _is_below(real, root):
        raise LinkRefused(errno.ELOOP, f"a link leads out of '{named or folder}', to '{real}'")
    above = (one for one in _upwards(real) if _is_below(one, root) and is_project(one, of_others=True))
    inside = next(above, root)
    if inside != root:
        raise LinkRefused(errno.ELOOP, f"a link leads out of '{named or folder}', to the project '{inside}'")
    between = [one for one in _upwards(real) if _is_below(one, root) and not _is_below(folder, one)]
    if any(os.path.basename(one).startswith(".") or is_environment(one) for one in between):
        raise LinkRefused(errno.ELOOP, f"a link leads to '{real}', which is hidden or of an environment")
