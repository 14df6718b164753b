"""Engines by what a person writes after `--engine`: a name, `file.py:Tensor`, `package.module:Tensor`.

A name is one of `ENGINES` or of the entry-point group `gradcheck.engines`, which any installed package can join. What
is found may be an `Engine`, a class of engines, or a Tensor class (see `tensor_class`). Nothing is imported before it
is asked for.
"""

from __future__ import annotations

import importlib
import inspect
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from importlib import metadata, util
from importlib.machinery import SourceFileLoader
from itertools import takewhile
from pathlib import Path
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, Any

from gradcheck.engines import missing
from gradcheck.engines.base import Engine
from gradcheck.engines.tensor_class.guard import Output
from gradcheck.errors import GradcheckError, UsageError
from gradcheck.language.suggest import did_you_mean

if TYPE_CHECKING:
    from gradcheck.engines.tensor_class.engine import TensorClassEngine

#: gradcheck's own, by name: where the class is, and what to install where it cannot be imported.
ENGINES = {
    "core": ("gradcheck.engines.core:Core", ""),
    "torch": ("gradcheck.engines.torch:Torch", ""),
    "hips": ("gradcheck.engines.hips:Hips", "pip install 'gradcheck[engines]'"),
    "jax": ("gradcheck.engines.jax:Jax", "pip install 'gradcheck[engines]'"),
}
#: Other people's Tensor classes by the names of their libraries.
READY = {
    "mygrad": "mygrad:tensor",
    "micrograd": "micrograd.engine:Value",
    "dezero": "dezero:Variable",
    "tinygrad": "tinygrad:Tensor",
    "chainer": "chainer:Variable",
}
#: By which code that is compiled by Numba runs in the processes that cases are run in: GNU's OpenMP ends these.
FORKING = ("NUMBA_THREADING_LAYER", "forksafe")
#: The entry-point group of other packages' engines.
GROUP = "gradcheck.engines"


def engine(name: str) -> Engine:
    """The engine of this name, or that `file.py:attr` or `package.module:attr` names. Raises UsageError for an unknown
    name, or one that cannot be imported."""
    known = missing.told()
    found = _engine(name)
    if isinstance(getattr(found, "provided", None), tuple):
        found.provided = tuple(one for one in missing.told() if one not in known)  # type: ignore[attr-defined]
    return found


def _engine(name: str) -> Engine:
    if name in ENGINES:
        where, hint = ENGINES[name]
        module, _, kind = where.partition(":")
        try:
            found: Engine = getattr(importlib.import_module(module), kind)()
        except ImportError as error:
            raise UsageError(f"the engine {name!r} cannot be imported: {error}", hint=hint) from error
        return found
    if ":" in name:
        return from_spec(name)
    if name.endswith(".py"):
        there = _what_is_there("", _loading(name, lambda: _from_file(name)))
        raise UsageError(f"{name} is a file, no engine", hint=f"write {name}:CLASS{there and f'; {there}'}")
    if name in READY:
        if util.find_spec(name) is None:
            raise UsageError(f"the engine {name!r} is a library that is not installed", hint=f"pip install {name}")
        return from_spec(READY[name])
    offered = {point.name: point for point in metadata.entry_points(group=GROUP)}
    if name in offered:
        point = offered[name]
        return as_engine(_loading(point.name, point.load), point.name, point.value)
    names = (*ENGINES, *READY, *offered)
    near = get_close_matches(name, names, n=1)
    known = f"{', '.join(names)}, and anybody's Tensor class: FILE.py:CLASS or PACKAGE.MODULE:CLASS"
    hint = f"did you mean {near[0]!r}?" if near else f"there are {known}"
    raise UsageError(f"there is no engine {name!r}", hint=hint)


def from_spec(spec: str) -> Engine:
    """The engine that `file.py:attr` or `package.module:attr` names. Raises UsageError, which says what is there."""
    if not all(spec.rpartition(":")[::2]):
        raise UsageError(f"'{spec}' names no engine", hint="write FILE.py:CLASS or PACKAGE.MODULE:CLASS")
    where, _, attribute = spec.rpartition(":")
    home = Path(where).stem if _is_file(where) else where
    found, module = _found(spec)
    return as_engine(found, f"{home}.{attribute}", spec, module)


def load_object(spec: str) -> Any:
    """What `file.py:attr` or `package.module:attr` names. Raises UsageError, which says what is there."""
    return _found(spec)[0]


def _found(spec: str) -> tuple[Any, ModuleType]:
    """The same, and the module that has it."""
    where, _, attribute = spec.rpartition(":")
    os.environ.setdefault(*FORKING)
    os.environ.setdefault(*missing.UNCOMPILED)
    module = _loading(spec, lambda: _from_file(where) if _is_file(where) else _from_module(where, Path.cwd()))
    found: Any = module
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise UsageError(f"there is no {attribute} in {where}", hint=_what_is_there(attribute, module))
        found = getattr(found, part)
    return found, module


def _is_file(where: str) -> bool:
    return where.endswith(".py") or os.sep in where


def as_engine(found: Any, name: str, spec: str, module: ModuleType | None = None) -> Engine:
    """An `Engine` as it is, a class of engines made, a Tensor class adapted. Raises UsageError for anything else.

    `name` becomes the name of an engine that has none; `spec` is how the person called it, in messages; ops are looked
    for in the `module` that was named, too, which may have its class from another.
    """
    if isinstance(found, type) and _is_engine(found):
        found = _loading(spec, found)
    if not isinstance(found, type) and _is_engine(found):
        if not getattr(found, "name", ""):
            found.name = name
        engine: Engine = found
        return engine
    if inspect.ismodule(found) or not callable(found):
        kind = type(found).__name__
        article = "an" if kind[0] in "aeiou" else "a"
        raise UsageError(f"{spec} is {article} {kind}, no engine", hint="name a Tensor class, or an Engine")
    return adapt(found, name, module)


def adapt(constructor: Callable[..., Any], name: str, module: ModuleType | None = None) -> TensorClassEngine:
    """An engine of a Tensor class, or of a function that makes tensors, whose ops may be in a `module`, too. Raises
    UsageError where it is none. What the class prints while it is looked at is dropped."""
    from gradcheck.engines.tensor_class.discovery import api_of  # only somebody's class needs these
    from gradcheck.engines.tensor_class.engine import TensorClassEngine
    from gradcheck.engines.tensor_class.scalars import ScalarClassEngine

    with Output().capturing():
        api = missing.provided(lambda: api_of(constructor, getattr(constructor, "__name__", name), module))
    return (ScalarClassEngine if api.scalar else TensorClassEngine)(api, name)


def _is_engine(found: Any) -> bool:
    return all(callable(getattr(found, method, None)) for method in ("evaluate", "pull_back"))


def _what_is_there(attribute: str, module: ModuleType) -> str:
    """The nearest name, else the classes that look like engines."""
    public = [name for name in vars(module) if not name.startswith("_")]
    classes = [name for name in public if callable(getattr(vars(module)[name], "backward", None))]
    return did_you_mean(attribute, public, f"it has {', '.join(classes)}" if classes else "")


def _loading(spec: str, load: Callable[[], Any]) -> Any:
    """What the person's code gives; whatever it raises is told in a line, and what it prints is told with it."""
    output = Output()
    try:
        with output.capturing():
            return missing.provided(load)
    except GradcheckError:
        raise
    except SystemExit as error:
        guard = "put what should run only as a program below  if __name__ == '__main__':"
        raise UsageError(f"{spec}: it ends the program when it is imported", hint=guard) from error
    except Exception as error:
        text = str(error).strip().splitlines()
        place = _place(error)
        message = f"{spec} cannot be imported: {type(error).__name__}{f': {text[0]}' if text else ''}{place}"
        printed = output.take().strip()
        said = f"it printed {printed[-200:]!r}" if printed else ""
        raise UsageError(message, hint=_of_old_numpy(error) or said) from error


def _of_old_numpy(error: Exception) -> str:
    """What to do where code asks NumPy for what newer ones have not; else nothing."""
    if not missing.is_of_old_numpy(error):
        return ""
    numpy = metadata.version("numpy")
    return (
        f"it is written for an older NumPy than {numpy}: take an environment with the one that it knows, or name the "
        "file of a version that has been mended (that of DeZero's book has: dezero/core.py:Variable)"
    )


def _place(error: BaseException) -> str:
    """Where in the person's code it was raised."""
    if isinstance(error, SyntaxError) and error.filename:
        return f" ({error.filename}:{error.lineno})"
    frames = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    file, line = frames[-1] if frames else (__file__, 0)
    return "" if "importlib" in file or file == __file__ else f" ({file}:{line})"


# Modules --------------------------------------------------------------------------------------------


def _from_module(name: str, folder: Path | None, last: Path | None = None) -> ModuleType:
    """A module whose package is in a folder. Only where something is nowhere else is it looked for in a `last` one, for
    a file that is found by two names is there twice; and not where that has another of the package's name: one in a
    file comes before a folder that does not say that it is a package."""
    top = name.partition(".")[0]
    hides = last is not None and ((last / f"{top}.py").is_file() or (last / top / "__init__.py").is_file())
    try:
        with _importable(folder):
            return importlib.import_module(name)
    except ModuleNotFoundError as error:
        inner = (error.name or "").partition(".")[0]
        if last is None or hides or not ((last / f"{inner}.py").is_file() or (last / inner).is_dir()):
            raise
    with _importable(folder, last):
        return importlib.import_module(name)


def _from_file(where: str) -> ModuleType:
    """The module in a file; one of a package under its full name, so that its relative imports work."""
    path = Path(where)
    if not path.is_file():
        near = [str(p) for p in path.parent.glob("*.py")] if path.parent.is_dir() else []
        raise UsageError(f"there is no file {where}", hint=did_you_mean(where, near, ""))
    path = path.resolve()
    names, folder = [path.stem], path.parent
    root = _imported_folder(path)
    if root is not None:
        return _from_module(".".join(path.relative_to(root.parent).with_suffix("").parts), root.parent, path.parent)
    if not (folder / "__init__.py").is_file() and _is_relative(path):
        return _in_a_package(path)
    while (folder / "__init__.py").is_file():
        names.insert(0, folder.name)
        folder = folder.parent
    return _from_module(".".join(names), folder, path.parent) if len(names) > 1 else _alone(path)


def _imported_folder(path: Path) -> Path | None:
    """The outermost folder around a file that the file, or a package around it, imports from by name, and that has what
    is imported (a clone is often called as the package inside): its package, though nothing in the folder may say so.
    Under another name its classes would be there twice."""
    packages = takewhile(Path.is_file, (folder / "__init__.py" for folder in path.parents))
    text = "\n".join(file.read_text(encoding="utf-8", errors="replace") for file in (path, *packages))
    imported = set(re.findall(r"^\s*(?:from|import)\s+(\w+)\.(\w+)", text, re.MULTILINE))
    folders = [folder for folder in reversed(path.parents) if folder.name in {name for name, _ in imported}]
    has = ((folder, folder / inner) for folder in folders for name, inner in imported if name == folder.name)
    whole = (folder for folder, inner in has if inner.is_dir() or inner.with_suffix(".py").is_file())
    return next(whole, folders[0] if folders else None)


def _is_relative(path: Path) -> bool:
    """Whether it imports its neighbours as those of a package."""
    return bool(re.search(r"^\s*from \.", path.read_text(encoding="utf-8", errors="replace"), re.MULTILINE))


def _in_a_package(path: Path) -> ModuleType:
    """The module in a file whose folder is a package in all but name; the package is given one that hides no other."""
    name = f"gradcheck_engine_{path.parent.name}_{abs(hash(str(path.parent))):x}"
    package = sys.modules.setdefault(name, ModuleType(name))
    package.__path__ = [str(path.parent)]
    return _from_module(f"{name}.{path.stem}", None, path.parent)


def _alone(path: Path) -> ModuleType:
    """A file on its own, under a name that hides no other module; its neighbours can be imported. A file that has
    changed since is read again."""
    about = path.stat()
    name = f"gradcheck_engine_{path.stem}_{abs(hash((str(path), about.st_mtime_ns, about.st_size))):x}"
    if name in sys.modules:
        return sys.modules[name]
    spec = util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{path.name} is no Python file")
    loader = _Afresh(name, str(path)) if type(spec.loader) is SourceFileLoader else spec.loader
    module = util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        with _importable(path.parent):
            loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


class _Afresh(SourceFileLoader):
    """Without bytecode, which Python takes for that of a file as long and changed within the same second."""

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        code: CodeType = self.source_to_code(self.get_data(path), path)
        return code


@contextmanager
def _importable(folder: Path | None, last: Path | None = None) -> Iterator[None]:
    """The folder's modules can be imported inside; those of gradcheck and torch that are there already come first. What
    no folder has may come from a last one."""
    first, after = ([] if path is None else [str(path)] for path in (folder, last))
    added = [*first, *after]
    sys.path[:0] = first
    sys.path.extend(after)
    try:
        yield
    finally:
        for text in added:
            if text in sys.path:
                sys.path.remove(text)
