"""Imports of installed libraries, which find no settings in the folder.

matplotlib takes settings from a `matplotlibrc` there, which can hold code, and Numba from a `.numba_config.yaml`, which
can name code to load and files to write; UCX, which some builds of torch load, takes them from a `ucx.conf`. The folder
may come from others.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

from gradcheck.engines.folder_finder import is_installed_file

#: A folder without settings: that of Python's own library.
_ELSEWHERE = os.path.dirname(os.__file__)


@contextmanager
def importing_elsewhere() -> Iterator[None]:
    """Have installed modules that are imported in the block run elsewhere."""
    sys.meta_path.insert(0, _FINDER)
    try:
        yield
    finally:
        sys.meta_path.remove(_FINDER)


class _InstalledFinder(MetaPathFinder):
    """Finds installed modules, and has them run in another folder."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        found = PathFinder.find_spec(fullname, path, target)
        if found is None or found.loader is None or not _is_library(found.origin or ""):
            return None
        found.loader.exec_module = partial(_run_elsewhere, found.loader)  # type: ignore[method-assign]
        return found


def _is_library(file: str) -> bool:
    """Return whether a file is installed, or in another folder of `sys.path`.

    `pip install --target FOLDER` fills such a folder."""
    if is_installed_file(file):
        return True
    here = os.path.join(working_directory(), "")
    if not here:
        return False
    places = tuple(os.path.join(folder, "") for folder in sys.path if os.path.isabs(folder))
    return file.startswith(places) and not file.startswith(here)


def _run_elsewhere(loader: Any, module: ModuleType) -> None:
    """Run a module for the first time."""
    del loader.exec_module  # of this object, which hides that of its class
    with working_elsewhere():
        loader.exec_module(module)
    if module.__name__ == "numba.core.config":
        module._config_fname = ""  # type: ignore[attr-defined]  # no file; it is read at each compilation, too


#: The folder that all threads have left, once a block; the last block returns to it.
_left: list[str] = []
_LEAVING = threading.RLock()


@contextmanager
def working_elsewhere() -> Iterator[None]:
    """Work in a folder without settings during the block."""
    with _LEAVING:
        here = working_directory()
        if here:
            os.chdir(_ELSEWHERE)
        _left.append(here)
    try:
        yield
    finally:
        with _LEAVING:
            _left.remove(here)
            if here and not _left:
                os.chdir(here)


def working_directory() -> str:
    """Return the folder outside of such blocks; "" if it was removed."""
    with _LEAVING:
        try:
            return _left[0] if _left else os.getcwd()
        except OSError:
            return ""


@contextmanager
def same_working_directory() -> Iterator[None]:
    """Return to the working directory at the end of the block."""
    here = working_directory()
    try:
        yield
    finally:
        if here != working_directory():
            os.chdir(here)


_FINDER = _InstalledFinder()
