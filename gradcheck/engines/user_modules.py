"""Modules of user code by file or name, with controlled imports.

User code can import its neighbours, as a program can whose folder Python searches first. But a folder `torch`, or a
file `queue.py`, beside a case must not affect gradcheck, torch or Python's own library. So the folder is not in
`sys.path`: a finder serves its files alone (`folder_finder`).
"""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Sequence
from importlib import util
from importlib.abc import Loader
from importlib.machinery import PathFinder
from itertools import takewhile
from pathlib import Path
from types import ModuleType

from gradcheck.engines.folder_finder import (
    RESERVED,
    allow_imports_from,
    is_foreign_module,
    is_installed_file,
    without_bytecode,
)
from gradcheck.errors import UsageError
from gradcheck.language.suggest import did_you_mean
from gradcheck.project_links import project_root

_PREFIX = "gradcheck_engine_"


def module_of_name(name: str, folder: Path | None = None, last: Path | None = None) -> ModuleType:
    """Return a module whose package is in a folder, or installed.

    A package found nowhere else may be in the `last` folder, unless that folder has another of the name: a file with
    two names would be imported twice."""
    top = name.partition(".")[0]
    hides = last is not None and ((last / f"{top}.py").is_file() or (last / top / "__init__.py").is_file())
    try:
        with allow_imports_from(folder, asked=top):
            return importlib.import_module(name)
    except ModuleNotFoundError as error:
        inner = (error.name or "").partition(".")[0]
        if last is None or hides or not ((last / f"{inner}.py").is_file() or (last / inner).is_dir()):
            raise
    with allow_imports_from(folder, last, top):
        return importlib.import_module(name)


def module_of_file(where: str) -> ModuleType:
    """Return the module in a file, under its full name if in a package.

    Its relative imports work. Raises UsageError without such a file, and any exception of the file."""
    path = Path(where)
    if path.exists() and not path.is_file():
        raise UsageError(f"{where} is not a regular file")
    if not path.is_file():
        near = [str(p) for p in path.parent.glob("*.py")] if path.parent.is_dir() else []
        raise UsageError(f"there is no file {where}", hint=did_you_mean(where, near, ""))
    path = path.resolve()
    root = _imported_folder(path)
    if root is None and not (path.parent / "__init__.py").is_file():
        is_relative = re.search(r"^\s*from \.", _text(path), re.MULTILINE)
        return _import_from_package(path.parent, [path.stem]) if is_relative else _import_file(path)
    if root is None:
        *_, root = takewhile(lambda folder: (folder / "__init__.py").is_file(), path.parents)
    names = path.relative_to(root).with_suffix("").parts
    if _is_name_taken(root, path):
        return _import_from_package(root, names)
    return module_of_name(".".join((root.name, *names)), root.parent, path.parent)


def import_name(module: ModuleType) -> str:
    """Return the name by which a program imports a module of user code.

    It finds it if it runs in the folder that `import_folder` returns."""
    top, *names = module.__name__.split(".")
    own = top.removeprefix(_PREFIX).rpartition("_")[0] if top.startswith(_PREFIX) else top
    return ".".join((own, *names))


def import_folder(module: ModuleType) -> Path | None:
    """Return the folder of a module's outermost package; None if installed."""
    file = getattr(module, "__file__", None)
    if file is None or is_installed_file(file):
        return None
    names = module.__name__.count(".") + (Path(file).stem == "__init__")
    return Path(file).resolve().parents[names]


def _is_name_taken(root: Path, path: Path) -> bool:
    """Return whether the file imports another package of its folder's name."""
    if root.name in RESERVED or root.name in (sys.stdlib_module_names & sys.modules.keys()):
        return True
    is_another = any(name == root.name and not _has_module(root, inner) for name, inner in _imports(path))
    return is_another and PathFinder.find_spec(root.name) is not None


def _imported_folder(path: Path) -> Path | None:
    """Return the outermost folder that a file imports from as a package.

    A neighbour that it imports, or a package around it, may import it, too; it may lack `__init__.py`. Under another
    name, the classes of a clone named like the package inside would exist twice."""
    packages = takewhile(Path.is_file, (folder / "__init__.py" for folder in path.parents))
    imported = {found for file in (path, *_neighbours(path), *packages) for found in _imports(file)}
    for folder in reversed(path.parents):
        if folder.name not in RESERVED and any(
            name == folder.name and _has_module(folder, inner) for name, inner in imported
        ):
            return folder
    return None


def _imports(file: Path) -> set[tuple[str, str]]:
    """Return the packages that a file imports from, each with its module."""
    return set(re.findall(r"^\s*(?:from|import)\s+(\w+)\.(\w+)", _text(file), re.MULTILINE))


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace")


def _neighbours(file: Path) -> list[Path]:
    """Return the files below its folder that a file imports by `from .name`."""
    names = re.findall(r"^\s*from \.(\w[\w.]*) import", _text(file), re.MULTILINE)
    return [found for name in names if (found := file.parent / f"{name.replace('.', '/')}.py").is_file()]


def _has_module(folder: Path, inner: str) -> bool:
    return (folder / inner).is_dir() or (folder / f"{inner}.py").is_file()


def _import_from_package(folder: Path, names: Sequence[str]) -> ModuleType:
    """Return a module of a package, which gets a name of its own."""
    name = f"{_PREFIX}{folder.name}_{abs(hash(str(folder))):x}"
    if name not in sys.modules:
        _make_package(name, folder)
    return module_of_name(".".join((name, *names)), None, folder)


def _make_package(name: str, folder: Path) -> None:
    """Import a folder under this name, with its `__init__.py`, if any."""
    init = folder / "__init__.py"
    spec = util.spec_from_file_location(name, init, submodule_search_locations=[str(folder)])
    if not init.is_file() or spec is None or spec.loader is None:
        sys.modules[name] = ModuleType(name)
        sys.modules[name].__path__ = [str(folder)]
        return
    _run_module(util.module_from_spec(spec), spec.loader, folder.parent)


def _import_file(path: Path) -> ModuleType:
    """Import a file under a unique name, again if it has changed."""
    about = path.stat()
    name = f"{_PREFIX}{path.stem}_{abs(hash((str(path), about.st_mtime_ns, about.st_size))):x}"
    if name in sys.modules:
        return sys.modules[name]
    spec = util.spec_from_file_location(name, path)
    if spec is None or without_bytecode(spec).loader is None:
        raise UsageError(f"{path.name} is no Python file")
    assert spec.loader is not None
    return _run_module(util.module_from_spec(spec), spec.loader, path.parent)


def _run_module(module: ModuleType, loader: Loader, folder: Path) -> ModuleType:
    """Run a module that can import from a folder; forget it if it raises."""
    sys.modules[module.__name__] = module
    try:
        with allow_imports_from(folder):
            loader.exec_module(module)
    except BaseException:
        del sys.modules[module.__name__]
        raise
    return module


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
        found = [folder for folder in above[:_LEVELS] if _holds_module(folder, name)]
        if name and not found:
            raise
        folder = found[0] if found else path.parent  # a relative import lacks its package
        try:
            return module_of_name(".".join(path.relative_to(folder).with_suffix("").parts), folder)
        except ImportError as again:
            raise (again if again.name else error) from None


def _holds_module(folder: Path, name: str) -> bool:
    spec = PathFinder.find_spec(name, [os.fspath(folder)]) if name else None
    return spec is not None and not is_foreign_module(spec)
