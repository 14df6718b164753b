"""Modules of user code by file or name, with controlled imports.

User code can import its neighbours, as a program can whose folder Python searches first. But a folder `torch`, or a
file `queue.py`, beside a case must not affect gradcheck, torch or Python's own library. So the folder is not in
`sys.path`: a finder serves only imports by the folder's files, and never the names of `RESERVED`.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib import util
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader, all_suffixes
from itertools import takewhile
from pathlib import Path
from types import CodeType, ModuleType

from gradcheck.errors import UsageError
from gradcheck.language.suggest import did_you_mean
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
        return _import_from_package(path.parent, [path.stem]) if _is_relative(path) else _import_file(path)
    if root is None:
        *_, root = takewhile(_is_package, path.parents)
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


def _is_package(folder: Path) -> bool:
    return (folder / "__init__.py").is_file()


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


def _is_relative(path: Path) -> bool:
    return bool(re.search(r"^\s*from \.", _text(path), re.MULTILINE))


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
    if spec is None or spec.loader is None:
        raise UsageError(f"{path.name} is no Python file")
    loader = _UncachedLoader(name, str(path)) if type(spec.loader) is SourceFileLoader else spec.loader
    return _run_module(util.module_from_spec(spec), loader, path.parent)


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


class _UncachedLoader(SourceFileLoader):
    """Ignores bytecode, which would hide a change within the same second."""

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        code: CodeType = self.source_to_code(self.get_data(path), path)
        return code


# Finders ---------------------------------------------------------------------------------------------------


@contextmanager
def allow_imports_from(folder: Path | None, last: Path | None = None, asked: str = "") -> Iterator[None]:
    """Let a folder's files import each other; take unknown names from `last`.

    This module, and compiled code, may import the package `asked` alone. Modules of the same names from other folders
    are hidden in the block. Functions of the folder may import its modules later, too."""
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
        if path is not None or fullname in RESERVED or not self._may_import(fullname, _importer()):
            return None
        found = PathFinder.find_spec(fullname, [self.folder])
        if found is not None and (loaded := _module_in(found.origin)) is not None:
            return ModuleSpec(fullname, _LoadedModule(loaded))
        if found is None or found.origin is not None:
            return found
        elsewhere = PathFinder.find_spec(fullname)  # a package with `__init__.py` precedes a folder without
        return found if elsewhere is None or elsewhere.origin is None else None

    def _may_import(self, name: str, file: str) -> bool:
        if file == __file__:
            return name == self.asked
        own = os.path.join(self.folder, name)
        may = name == self.asked or file.startswith(f"{own}{os.sep}") or not any(map(is_foreign, (own, f"{own}.py")))
        return may and file.startswith(os.path.join(self.folder, "")) and not is_installed_file(file)


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
