"""Finders of the modules in the folders of user code.

A folder is not in `sys.path`: a finder of its own serves only imports by the folder's files, and never the names of
`RESERVED`, nor what belongs to another user or project.
"""

from __future__ import annotations

import importlib
import os
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader, all_suffixes
from pathlib import Path
from types import CodeType, ModuleType

from gradcheck.project_links import is_foreign

#: Names that a user's folder cannot shadow: gradcheck, its libraries, theirs, and common frameworks.
RESERVED = frozenset(
    (
        *("gradcheck", "click", "colorama", "jinja2", "markdown_it", "markupsafe", "mdurl", "ml_dtypes", "numpy"),
        *("pygments", "rich", "scipy", "yaml", "_yaml", "torch", "torchgen", "functorch", "triton", "sympy", "mpmath"),
        *("fsspec", "filelock", "typing_extensions", "jax", "jaxlib", "opt_einsum", "numba", "llvmlite", "cupy"),
        *("pytest", "_pytest", "pluggy", "iniconfig", "packaging", "distributed", "dask", "cloudpickle", "IPython"),
    )
)
#: The module that imports what a user names.
_ASKING = os.path.join(os.path.dirname(__file__), "user_modules.py")


@contextmanager
def allow_imports_from(folder: Path | None, last: Path | None = None, asked: str = "") -> Iterator[None]:
    """Let a folder's files import each other; take unknown names from `last`.

    `user_modules`, and compiled code, may import the package `asked` alone. Modules of the same names from other
    folders are hidden in the block. Functions of the folder may import its modules later, too."""
    finders = {at: _FolderFinder(str(place), asked) for place, at in ((folder, 0), (last, _after_installed())) if place}
    with ExitStack() as stack:
        for at, finder in finders.items():
            stack.enter_context(_with_own_modules(finder.folder))
            sys.meta_path.insert(at, finder)
            stack.callback(sys.meta_path.remove, finder)
        yield
    for at, finder in finders.items():
        if finder not in sys.meta_path:
            sys.meta_path.insert(at, finder)


def _after_installed() -> int:
    """Return the place after Python's own finder, once another precedes it."""
    return 2 + next(at for at, finder in enumerate(sys.meta_path) if finder is PathFinder)


@dataclass(frozen=True)
class _FolderFinder(MetaPathFinder):
    """Finds a folder's modules for its own files, and `asked` for this one."""

    folder: str
    asked: str

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        file = _importer()
        if path and UncachedLoader.flags and path[0].startswith(os.path.join(self.folder, "")):
            return (inner := PathFinder.find_spec(fullname, path)) and without_bytecode(inner)
        if path is not None or fullname in RESERVED or not self._may_import(fullname, file):
            return None
        found = PathFinder.find_spec(fullname, [self.folder])
        is_own = fullname == self.asked or file.startswith(os.path.join(self.folder, fullname, ""))
        if found is not None and is_foreign_module(found, may_be_project=is_own):
            return None
        if found is not None and (loaded := _module_in(found.origin)) is not None:
            return ModuleSpec(fullname, _LoadedModule(loaded))
        if found is None or found.origin is not None:
            return found and without_bytecode(found)
        elsewhere = PathFinder.find_spec(fullname)  # a package with `__init__.py` precedes a folder without
        return found if elsewhere is None or elsewhere.origin is None else None

    def _may_import(self, name: str, file: str) -> bool:
        is_of_folder = file.startswith(os.path.join(self.folder, "")) and not is_installed_file(file)
        return name == self.asked if file == _ASKING else is_of_folder


def is_foreign_module(spec: ModuleSpec, *, may_be_project: bool = False) -> bool:
    """Return whether a module is another user's or, by its folder, a clone."""
    folders = () if may_be_project else spec.submodule_search_locations or ()
    return any(map(is_foreign, (spec.origin or "", *folders)))


def without_bytecode(spec: ModuleSpec) -> ModuleSpec:
    """Have a module compiled from its source, if it has one."""
    if type(spec.loader) is SourceFileLoader:
        spec.loader = UncachedLoader(spec.name, spec.loader.path)
    return spec


class UncachedLoader(SourceFileLoader):
    """Ignores bytecode: it may hide a change, or be another user's."""

    flags = 0

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        code: CodeType = compile(self.get_data(path), path, "exec", self.flags, dont_inherit=True)
        return code


def _module_in(file: str | None) -> ModuleType | None:
    """Return a loaded file's module; loaded again, its classes would differ."""
    found = (one for one in list(sys.modules.values()) if getattr(one, "__dict__", {}).get("__file__") == file)
    return next((one for one in found if file and not getattr(one.__spec__, "_initializing", False)), None)


class _LoadedModule(Loader):
    """Returns a module that was imported under another name, unchanged."""

    def __init__(self, module: ModuleType) -> None:
        self._module, self._spec = module, module.__spec__

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self._module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._spec


#: Folders of Python's library and of installed packages. A virtual environment may be below a folder of cases.
_INSTALLED = tuple(
    os.path.join(sysconfig.get_path(name), "") for name in ("stdlib", "platstdlib", "purelib", "platlib")
)


def is_installed_file(file: str) -> bool:
    """Return whether a file is of Python's library or of an installed package."""
    return file.startswith(_INSTALLED) or "site-packages" in file or "dist-packages" in file


_IMPORTLIB = os.path.join(os.path.dirname(importlib.__file__), "")


def _importer() -> str:
    """Return the file that runs the current import, or ""."""
    frame = sys._getframe(2)
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith(("<", _IMPORTLIB)):
            return file
        frame = frame.f_back  # type: ignore[assignment]
    return ""


#: Modules of folders that are hidden by others of the same names.
_hidden_modules: dict[str, dict[str, ModuleType]] = {}


@contextmanager
def _with_own_modules(folder: str) -> Iterator[None]:
    """Have `sys.modules` hold the folder's modules during the block."""
    names = _names_in(folder) - RESERVED
    others = {
        name: module
        for name, module in sys.modules.items()
        if (top := name.partition(".")[0]) in names - sys.stdlib_module_names and not _is_from(folder, top)
    }
    for name in others:
        del sys.modules[name]
    for name, module in _hidden_modules.get(folder, {}).items():
        sys.modules.setdefault(name, module)
    leave = (names & sys.stdlib_module_names) | {name.partition(".")[0] for name in others}
    try:
        yield
    finally:
        own = [name for name in sys.modules if (top := name.partition(".")[0]) in leave and _is_from(folder, top)]
        _hidden_modules.setdefault(folder, {}).update(
            (name, sys.modules.pop(name)) for name in sorted(own, reverse=True)
        )
        sys.modules.update(others)


def _names_in(folder: str) -> frozenset[str]:
    try:
        with os.scandir(folder) as entries:
            return frozenset(
                entry.name.partition(".")[0]
                for entry in entries
                if entry.name.endswith(tuple(all_suffixes())) or os.path.isfile(os.path.join(entry.path, "__init__.py"))
            )
    except OSError:
        return frozenset()


def _is_from(folder: str, top: str) -> bool:
    """Return whether a top-level module comes from the folder, if imported."""
    module = sys.modules.get(top)
    file = getattr(module, "__file__", None) or ""
    above = os.path.dirname(file)
    return module is None or folder in (above, os.path.dirname(above) if hasattr(module, "__path__") else above)
