"""The folder from which a program imports a file, if packages hide it."""

from __future__ import annotations

import os
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType

from gradcheck.engines.folder_finder import RESERVED, is_foreign_module
from gradcheck.engines.user_modules import module_of_file, module_of_name
from gradcheck.project_links import project_root

#: The number of folders above a file from which a program may have started.
_LEVELS = 4


def module_of_program_file(where: str) -> ModuleType:
    """Return the module in a file, imported from the folder that it needs.

    A program may run in any folder of the project above the file, also in one that `__init__.py` makes look like a
    package. Raises what `module_of_file` raises."""
    try:
        return module_of_file(where)
    except ImportError as error:
        path, name = Path(where).resolve(), (error.name or "").partition(".")[0]
        root = Path(project_root(path))
        above = [folder for folder in path.parents if folder.is_relative_to(root)] if name not in RESERVED else []
        found = [folder for folder in above[:_LEVELS] if _has_module(folder, name)]
        if name and not found:
            raise
        folder = found[0] if found else path.parent  # a relative import lacks its package
        try:
            return module_of_name(".".join(path.relative_to(folder).with_suffix("").parts), folder)
        except ImportError as again:
            raise (again if again.name else error) from None


def _has_module(folder: Path, name: str) -> bool:
    spec = PathFinder.find_spec(name, [os.fspath(folder)]) if name else None
    return spec is not None and not is_foreign_module(spec)
