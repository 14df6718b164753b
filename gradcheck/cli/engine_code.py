"""The Python files that the code of an engine or a case may import."""

from __future__ import annotations

import os
from importlib import util
from pathlib import Path
from typing import NamedTuple

from gradcheck.engines.folder_finder import is_installed_file


class UserCode(NamedTuple):
    """A file of code, and the folder whose modules it may import."""

    file: str
    folder: str


def user_code(reference: str, folder: str = "") -> UserCode | None:
    """Return the code of `FILE.py:NAME` or `MODULE:NAME`; None if installed.

    A file's path is relative to `folder`. Its outermost package is in the returned folder."""
    where = reference.rpartition(":")[0]
    if where.endswith(".py"):
        file = os.path.join(folder, where)
        above = [*Path(os.path.realpath(file)).parents]
        return UserCode(file, os.path.relpath(next(one for one in above if not (one / "__init__.py").is_file())))
    place = _place_of(where.partition(".")[0]) if where else None
    if place is None:
        return None
    module = os.path.join(place, *where.split("."))
    file = next(filter(os.path.isfile, (f"{module}.py", os.path.join(module, "__init__.py"))), f"{module}.py")
    return None if is_installed_file(os.path.abspath(file)) else UserCode(os.path.relpath(file), place)


def _place_of(top: str) -> str | None:
    """Return the folder that holds a module: the working directory first."""
    if os.path.isfile(f"{top}.py") or os.path.isdir(top):
        return os.curdir
    try:
        spec = util.find_spec(top)
    except ValueError:  # such as __main__
        return None
    if spec is None or not spec.has_location:
        return None
    file = Path(spec.origin or "")
    return os.path.relpath(file.parents[1] if spec.submodule_search_locations else file.parent)
