"""Stand-ins for missing names and modules that user code imports.

They are names that newer NumPys lack, and modules that have nothing to do with gradients.
"""

from __future__ import annotations
import __future__

import ast
import dis
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
import traceback
import types
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from gradcheck.engines.folder_finder import UncachedLoader, is_installed_file
from gradcheck.errors import UsageError
from gradcheck.facts import Fact, fact

#: NumPy's names before 2.0 and before 1.24.
_OLD_NAMES: dict[str, Any] = {
    **dict.fromkeys(("Inf", "Infinity", "infty", "PINF"), np.inf),
    **dict.fromkeys(("str", "unicode"), str),
    "NINF": -np.inf,
    "NaN": np.nan,
    "alltrue": np.all,
    "asfarray": lambda a, dtype=np.float64: np.asarray(a, dtype),
    "bool8": np.bool_,
    "complex": complex,
    "complex_": np.complex128,
    "cumproduct": np.cumprod,
    "float": float,
    "float_": np.float64,
    "in1d": lambda a, b: np.isin(a, b).ravel(),
    "int": int,
    "msort": lambda a: np.sort(a, axis=0),
    "object": object,
    "product": np.prod,
    "round_": np.round,
    "row_stack": np.vstack,
    "sometrue": np.any,
    "string_": np.bytes_,
    "trapz": np.trapezoid,
    "unicode_": np.str_,
}
#: Makes Numba compile nothing: its functions run as Python, and no case waits for a compiler.
NUMBA_DISABLED = ("NUMBA_DISABLE_JIT", "1")
#: Modules for plots, progress, data sets, or devices that may not be there.
_IRRELEVANT_MODULES = frozenset(
    (
        *("matplotlib", "graphviz", "pygraphviz", "pydot", "networkx", "seaborn", "plotly", "PIL", "imageio", "cv2"),
        *("IPython", "ipywidgets", "streamlit", "gradio", "tqdm", "colorama", "termcolor", "wandb", "prettytable"),
        *("pandas", "sklearn", "torchvision", "datasets", "requests", "tensorboardX", "dill", "loguru", "manim"),
        *("h5py", "gym", "gymnasium", "pygame", "nltk", "psutil", "hypothesis", "torchviz", "torchsummary", "fire"),
        *("safetensors", "orjson", "ujson", "pyopencl", "pycuda", "cupyx", "triton", "pydantic", "skimage"),
    )
)
_added_names: list[str] = []
_stubbed_modules: list[str] = []


def add_missing(error: BaseException) -> bool:
    """Add a stand-in for the failed import; return whether to try it again."""
    if isinstance(error, ModuleNotFoundError):
        return _restore_module(error.name or "") or _add_stub(error)
    if isinstance(error, NameError):
        before, UncachedLoader.flags = UncachedLoader.flags, __future__.annotations.compiler_flag  # as in Python 3.14
        return not before
    if isinstance(error, AttributeError) and error.name == "py_func":
        return _compile()
    missing = [name for name in _OLD_NAMES if name not in vars(np)] if is_old_numpy_error(error) else []
    _restore(missing)
    return bool(missing)


def _restore(names: list[str]) -> None:
    for name in names:
        found = _OLD_NAMES[name]
        if isinstance(found, types.FunctionType) and found.__module__ == __name__:
            found.__module__, found.__name__ = "numpy", name  # code may look it up by these
        setattr(np, name, found)
    _added_names.extend(names)


def _restore_module(name: str) -> bool:
    """Restore a module that newer NumPys name `_…_impl`, if it is one."""
    parent, _, own = name.rpartition(".")
    if not parent.startswith("numpy.") or importlib.util.find_spec(f"{parent}._{own}_impl") is None:
        return False
    sys.modules[name] = importlib.import_module(f"{parent}._{own}_impl")
    _added_names.append(name.removeprefix("numpy."))
    return True


def import_with_stubs(load: Callable[[], Any]) -> Any:
    """Import, and try again from the beginning while stand-ins can be added."""
    while True:
        before = set(sys.modules)
        try:
            found = load()
            _restore_used_names(set(sys.modules) - before)
            return found
        except Exception as error:
            cause = error.__cause__ if isinstance(error, UsageError) else error
            if cause is None or not add_missing(cause):
                raise
            anew = [name for name in set(sys.modules) - before if not _is_installed(sys.modules[name])]
            for name in anew:  # a package finds its folders through its parent
                del sys.modules[name]


def _restore_used_names(modules: Iterable[str]) -> None:
    """Restore NumPy's old names that functions of user code need when called."""
    own = [sys.modules[name] for name in modules if not _is_installed(sys.modules[name])]
    used = {name for module in own for name in _numpy_names(module)}
    _restore([name for name in _OLD_NAMES if name in used and name not in vars(np)])


def _numpy_names(module: types.ModuleType) -> Iterator[str]:
    """Yield the names of NumPy's that a module's text has.

    The module itself is not asked: some of torch's raise at every unknown attribute."""
    try:
        tree = ast.parse(Path(getattr(module, "__file__", None) or "").read_bytes())
    except (OSError, ValueError, SyntaxError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ("np", "numpy"):
            yield node.attr


def _is_installed(module: Any) -> bool:
    """Return whether a module is a library's, or Python's own.

    Some of these cannot be imported twice. A package without a file is where its folders are. `torch.classes` says
    that it is `_classes.py`, and any name is an attribute of it."""
    file = getattr(module, "__file__", None)
    if file is not None and not (str(file).endswith(".py") and os.path.isabs(file)):
        return True
    try:
        places = [str(place) for place in ([file] if file else getattr(module, "__path__", ()))]
    except KeyError:
        return False
    return all(map(is_installed_file, places))


def stub_facts() -> tuple[Fact, ...]:
    """Return the facts about stand-ins in this process so far."""
    stubs = tuple(name for name in _stubbed_modules if name in _IRRELEVANT_MODULES)
    is_uncompiled = "numba" in sys.modules and os.environ.get(NUMBA_DISABLED[0]) == NUMBA_DISABLED[1]
    optional = (
        (_added_names, fact("old_names_given", names=tuple(_added_names))),
        (stubs, fact("stood_in_for", modules=stubs)),
        ("cupy" in _stubbed_modules, fact("numpy_stood_in_for", module="cupy")),
        (is_uncompiled, fact("not_compiled", variable=NUMBA_DISABLED[0])),
    )
    return tuple(found for holds, found in optional if holds)


def is_old_numpy_error(error: BaseException) -> bool:
    """Return whether code needs a name that newer NumPys lack, as dezero does."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    return isinstance(error, AttributeError) and bool(frames) and frames[-1].f_globals.get("__name__") == "numpy"


def _compile() -> bool:
    """Switch Numba's compiler on, if code needs it; return whether it was off."""
    config = getattr(sys.modules.get("numba"), "config", None)
    if not getattr(config, "DISABLE_JIT", 0):
        return False
    config.DISABLE_JIT = 0  # type: ignore[union-attr]
    os.environ[NUMBA_DISABLED[0]] = "0"
    return True


def _add_stub(error: ModuleNotFoundError) -> bool:
    top = (error.name or "").partition(".")[0]
    if top not in (*_IRRELEVANT_MODULES, *_REPLACEMENTS) or top in _stubbed_modules or top in sys.modules:
        return False
    _stubbed_modules.append(top)
    if _FINDER not in sys.meta_path:
        sys.meta_path.append(_FINDER)
    return True


class _StubValue:
    """A value with any attribute that can be called and unpacked, or is 0."""

    def __getattr__(self, name: str) -> Any:
        return _stub(name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return a decorated function or class unchanged."""
        return args[0] if len(args) == 1 and not kwargs and isinstance(args[0], (types.FunctionType, type)) else self

    def __iter__(self) -> Iterator[Any]:
        """Yield as many stand-ins as the caller unpacks; a loop gets none."""
        caller = sys._getframe(1)
        steps = (step for step in dis.get_instructions(caller.f_code) if step.offset == caller.f_lasti)
        number = next((step.arg for step in steps if step.opname == "UNPACK_SEQUENCE"), None)
        return iter([_StubValue() for _ in range(number or 0)])

    def __int__(self) -> int:  # a version, or a capability of a device
        return 0

    def __or__(self, other: Any) -> Any:  # in annotations
        return self

    __ror__ = __or__


class _StubType(type):
    """The type of a class without instances, for `isinstance` and as a base."""

    def __getattr__(cls, name: str) -> Any:
        return _stub(name)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """Return a stand-in; of a class derived from one, an instance."""
        return _StubValue()(*args, **kwargs) if cls.__module__ == __name__ else super().__call__(*args, **kwargs)


def _stub(name: str) -> Any:
    """Return a stand-in for an attribute: a class if it is named like one."""
    if name.startswith("__"):
        raise AttributeError(name)
    return _StubType(name, (), {"__module__": __name__}) if name[:1].isupper() and not name.isupper() else _StubValue()


class _StubModule(types.ModuleType):
    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        found = _stub(name)
        setattr(self, name, found)  # a class is the same one each time
        return found


class _Cupy(_StubModule):
    """CuPy by NumPy."""

    def __getattr__(self, name: str) -> Any:
        given = {"asnumpy": np.asarray, "get_array_module": lambda *_: np, "array_api": np}
        return given[name] if name in given else getattr(np, name, _StubValue())


def _uncompiled(*functions: Any, **settings: Any) -> Any:
    """Return a function unchanged: a decorator, with settings or without."""
    if len(functions) == 1 and isinstance(functions[0], types.FunctionType) and not settings:
        functions[0].py_func = functions[0]  # type: ignore[attr-defined]
        return functions[0]
    return _uncompiled


def _vectorized(*given: Any, **settings: Any) -> Any:
    """Return a function of arrays, or a decorator without its settings."""
    return np.vectorize(given[0]) if given and isinstance(given[0], types.FunctionType) else _vectorized


class _Numba(_StubModule):
    """Numba without compiling."""

    def __getattr__(self, name: str) -> Any:
        known = {"prange": range, "njit": _uncompiled, "jit": _uncompiled, "vectorize": _vectorized}
        return known[name] if name in known else super().__getattr__(name)


class _Pydantic(_StubModule):
    """Pydantic without checks."""

    BaseModel = types.SimpleNamespace


#: Stand-ins for modules that compute, or hold what is computed.
_REPLACEMENTS: dict[str, type[_StubModule]] = {"cupy": _Cupy, "numba": _Numba, "pydantic": _Pydantic}


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds stand-ins, after all that is installed."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if name.partition(".")[0] not in _stubbed_modules:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return _REPLACEMENTS.get(spec.name, _StubModule)(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        """Leave the module empty."""


_FINDER = _Finder()
