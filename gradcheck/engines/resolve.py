"""Engines by the text after `--engine`: a name, FILE.py:NAME, MODULE:NAME.

A name is an entry of `registry` or of the entry-point group `gradcheck.engines`, which any installed package can
join. The object may be an `Engine`, a class of engines, or a Tensor class (see `tensor_class`). Nothing is imported
before it is needed.
"""

from __future__ import annotations

import importlib
import inspect
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from importlib import metadata, util
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from gradcheck.engines import import_stubs
from gradcheck.engines.base import Engine
from gradcheck.engines.folder_finder import is_installed_file
from gradcheck.engines.library_imports import importing_elsewhere
from gradcheck.engines.registry import ENGINES, LIBRARY_CLASSES
from gradcheck.engines.tensor_class.user_code_guard import USER_EXCEPTIONS, Output
from gradcheck.engines.user_modules import import_folder, module_of_name, module_of_program_file
from gradcheck.errors import GradcheckError, UsageError, exception_text
from gradcheck.forks import end_fork
from gradcheck.language.suggest import did_you_mean

if TYPE_CHECKING:
    from gradcheck.engines.tensor_class.engine import TensorClassEngine

#: Lets code compiled by Numba run in forked processes: GNU's OpenMP ends them.
NUMBA_FORK_SAFE = ("NUMBA_THREADING_LAYER", "forksafe")
#: The entry-point group of other packages' engines.
ENTRY_POINT_GROUP = "gradcheck.engines"


class InstalledSpec(str):
    """`MODULE:NAME` in an installed package, never in the working directory."""

    __slots__ = ()


def resolve_engine(name: str) -> Engine:
    """Return the engine of a name or reference. Raises UsageError."""
    known = import_stubs.stub_facts()
    found = _resolve(name)
    if isinstance(getattr(found, "provided", None), tuple):
        found.provided = tuple(one for one in import_stubs.stub_facts() if one not in known)  # type: ignore[attr-defined]
    return found


def _resolve(name: str) -> Engine:
    if name in ENGINES:
        entry = ENGINES[name]
        try:
            with importing_elsewhere():
                found: Engine = getattr(importlib.import_module(entry.module), entry.class_name)()
        except ImportError as error:
            message = f"the engine {name!r} cannot be imported: {exception_text(error)}"
            raise UsageError(message, hint=entry.install_hint) from error
        return found
    if ":" in name:
        return engine_from_spec(name)
    if name.endswith(".py"):
        there = _name_hint("", _import_user_code(name, lambda: module_of_program_file(name)))
        raise UsageError(f"{name} is a file, no engine", hint=f"write {name}:CLASS{there and f'; {there}'}")
    if name in LIBRARY_CLASSES:
        if util.find_spec(name) is None:
            raise UsageError(f"the engine {name!r} is a library that is not installed", hint=f"pip install {name}")
        return engine_from_spec(InstalledSpec(LIBRARY_CLASSES[name]))
    offered = {point.name: point for point in metadata.entry_points(group=ENTRY_POINT_GROUP)}
    if name in offered:
        point = offered[name]
        return as_engine(_import_user_code(point.name, point.load), point.name, point.value)
    names = named_engines()
    near = get_close_matches(name, names, n=1)
    known = f"{', '.join(names)}, and any Tensor class: FILE.py:CLASS or PACKAGE.MODULE:CLASS"
    hint = f"did you mean {near[0]!r}?" if near else f"there are {known}"
    raise UsageError(f"there is no engine {name!r}", hint=hint)


def named_engines() -> tuple[str, ...]:
    """Return the names of all engines that have one of their own here."""
    return (*ENGINES, *LIBRARY_CLASSES, *(point.name for point in metadata.entry_points(group=ENTRY_POINT_GROUP)))


def engine_from_spec(spec: str) -> Engine:
    """Return the engine that `file.py:attr` or `package.module:attr` names.

    A module of that name in the working directory comes first, unless it is an `InstalledSpec`. Raises UsageError."""
    if not all(spec.rpartition(":")[::2]):
        raise UsageError(f"'{spec}' names no engine", hint="write FILE.py:CLASS or PACKAGE.MODULE:CLASS")
    where, _, attribute = spec.rpartition(":")
    home = Path(where).stem if _is_file(where) else where
    found, module = _find_object(spec, None if isinstance(spec, InstalledSpec) else Path.cwd())
    engine = as_engine(found, f"{home}.{attribute}", spec, module)
    if getattr(engine, "spec", None) == "":
        engine.spec = spec  # type: ignore[attr-defined]
    return engine


def imported_anew(engine: TensorClassEngine) -> TensorClassEngine:
    """Return the engine of a class from modules that are imported again.

    It is the same engine if it was not named. The modules of its folder lose what they hold: for a process that has no
    other use of them."""
    folder = import_folder(engine.api.module) if engine.api.module is not None else None
    if not engine.spec or folder is None:
        return engine
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if file is None or is_installed_file(file) or name.partition(".")[0] == "gradcheck":
            continue
        if Path(file).is_relative_to(folder):
            del sys.modules[name]
    found = engine_from_spec(engine.spec)
    assert type(found) is type(engine)
    return found


def load_object(spec: str) -> Any:
    """Return the object of `file.py:attr` or `module:attr`. Raises UsageError."""
    return _find_object(spec, Path.cwd())[0]


def _find_object(spec: str, folder: Path | None) -> tuple[Any, ModuleType]:
    """Return the object and its module, which is looked for in `folder` first."""
    where, _, attribute = spec.rpartition(":")
    os.environ.setdefault(*NUMBA_FORK_SAFE)
    os.environ.setdefault(*import_stubs.NUMBA_DISABLED)
    module = _import_user_code(
        spec, lambda: module_of_program_file(where) if _is_file(where) else module_of_name(where, folder)
    )
    found: Any = module
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise UsageError(f"there is no {attribute} in {where}", hint=_name_hint(attribute, module))
        found = getattr(found, part)
    return found, module


def _is_file(where: str) -> bool:
    return where.endswith(".py") or os.sep in where


def as_engine(found: Any, name: str, spec: str, module: ModuleType | None = None) -> Engine:
    """Return an engine for an engine, a class of engines, or a Tensor class.

    Args:
        found: An `Engine` is returned as it is, a class of engines is called, any other callable is adapted.
        name: The name of an engine that has none.
        spec: The user's own text for it, in messages.
        module: The named module, in which ops are looked up too; the class may come from another one.

    Raises:
        UsageError: The object is none of these.
    """
    if isinstance(found, type) and _is_engine(found):
        found = _import_user_code(spec, found)
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
    """Return the engine of a Tensor class, or of a function making tensors.

    Its output during discovery is dropped. Raises UsageError if it is no Tensor class."""
    from gradcheck.engines.tensor_class.api_discovery import api_of  # only a Tensor class needs these
    from gradcheck.engines.tensor_class.engine import TensorClassEngine
    from gradcheck.engines.tensor_class.scalar_engine import ScalarClassEngine

    def adapted() -> TensorClassEngine:
        api = api_of(constructor, getattr(constructor, "__name__", name), module)
        return (ScalarClassEngine if api.is_scalar else TensorClassEngine)(api, name)

    with Output().capturing():
        found: TensorClassEngine = import_stubs.import_with_stubs(adapted)
        return found


def _is_engine(found: Any) -> bool:
    return all(callable(getattr(found, method, None)) for method in ("evaluate", "pull_back"))


def _name_hint(attribute: str, module: ModuleType) -> str:
    public = [name for name in vars(module) if not name.startswith("_")]
    classes = [name for name in public if callable(getattr(vars(module)[name], "backward", None))]
    return did_you_mean(attribute, public, f"it has {', '.join(classes)}" if classes else "")


def _import_user_code(spec: str, load: Callable[[], Any]) -> Any:
    """Return `load()`; raise any exception as a UsageError with the output."""
    output = Output()
    _forbid_planted_libraries()
    try:
        with output.capturing(), _without_arguments():
            return import_stubs.import_with_stubs(load)
    except GradcheckError:
        raise
    except SystemExit as error:
        guard = "put what should run only as a program below  if __name__ == '__main__':"
        raise UsageError(f"{spec}: it ends the program when it is imported", hint=guard) from error
    except USER_EXCEPTIONS as error:
        text = exception_text(error).splitlines()
        place = _place(error)
        message = f"{spec} cannot be imported: {type(error).__name__}{f': {text[0]}' if text else ''}{place}"
        printed = output.take().strip()
        quoted = f"it printed {printed[-200:]!r}" if printed else ""
        raise UsageError(message, hint=_old_numpy_hint(error) or quoted) from error
    finally:
        end_fork()


@contextmanager
def _without_arguments() -> Iterator[None]:
    """Hide gradcheck's own command line, which an imported file may parse."""
    given, sys.argv = sys.argv, sys.argv[:1]
    try:
        yield
    finally:
        sys.argv = given


def _forbid_planted_libraries() -> None:
    """Have no library of the working directory loaded in place of another.

    `ctypes` asks a compiler where a library is, whose linker reads `libgcc_s.so.1` there: it may name any other file.
    """
    import ctypes.util

    if hasattr(ctypes.util, "_findLib_gcc"):
        ctypes.util._findLib_gcc = lambda name: None  # ldconfig and `ld` are asked, too


def _old_numpy_hint(error: BaseException) -> str:
    """Return advice for code that needs names of older NumPys, else ""."""
    if not import_stubs.is_old_numpy_error(error):
        return ""
    numpy = metadata.version("numpy")
    return (
        f"it is written for an older NumPy than {numpy}: take an environment with the one that it knows, or name the "
        "file of a version that has been mended (that of DeZero's book has: dezero/core.py:Variable)"
    )


def _place(error: BaseException) -> str:
    if isinstance(error, SyntaxError) and error.filename:
        return f" ({error.filename}:{error.lineno})"
    frames = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    file, line = frames[-1] if frames else (__file__, 0)
    return "" if "importlib" in file or file == __file__ else f" ({file}:{line})"
