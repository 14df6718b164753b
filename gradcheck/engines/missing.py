"""What somebody's code asks for when it is imported, and is not here: names that newer NumPys lack, and modules that
have nothing to do with gradients."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
import traceback
import types
from typing import Any

import numpy as np

from gradcheck.facts import Fact, fact

#: NumPy's names of before 2.0, and of before 1.24.
_OLD_NAMES: dict[str, Any] = {
    **dict.fromkeys(("Inf", "Infinity", "infty", "PINF"), np.inf),
    **dict.fromkeys(("str", "unicode"), str),
    "NINF": -np.inf,
    "NaN": np.nan,
    "alltrue": np.all,
    "bool8": np.bool_,
    "complex": complex,
    "complex_": np.complex128,
    "cumproduct": np.cumprod,
    "float": float,
    "float_": np.float64,
    "int": int,
    "object": object,
    "product": np.prod,
    "round_": np.round,
    "sometrue": np.any,
    "string_": np.bytes_,
    "unicode_": np.str_,
}
#: Modules with which is drawn, shown, or read what is trained on.
_ASIDE = frozenset(
    (
        *("matplotlib", "graphviz", "pygraphviz", "pydot", "networkx", "seaborn", "plotly", "PIL", "imageio", "cv2"),
        *("IPython", "ipywidgets", "streamlit", "gradio", "tqdm", "colorama", "termcolor", "wandb", "prettytable"),
        *("pandas", "sklearn", "torchvision", "datasets", "requests", "tensorboardX", "dill", "loguru", "manim"),
    )
)
_given: list[str] = []
_stood_in: list[str] = []


def provide(error: BaseException) -> bool:
    """Whether what an import has failed for could be given, so that it may be tried again."""
    if isinstance(error, ModuleNotFoundError):
        return _stand_in(error)
    return is_of_old_numpy(error) and _give_names()


def told() -> tuple[Fact, ...]:
    """What has been given in this process: it is said in a line."""
    names = [fact("old_names_given", names=tuple(_given))] if _given else []
    return (*names, *([fact("stood_in_for", modules=tuple(_stood_in))] if _stood_in else []))


def is_of_old_numpy(error: BaseException) -> bool:
    """Whether code has asked NumPy for what newer ones have not, as chainer and dezero do."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    return isinstance(error, AttributeError) and bool(frames) and frames[-1].f_globals.get("__name__") == "numpy"


def _give_names() -> bool:
    lacking = [name for name in _OLD_NAMES if name not in vars(np)]
    for name in lacking:
        setattr(np, name, _OLD_NAMES[name])
    _given.extend(lacking)
    return bool(lacking)


def _stand_in(error: ModuleNotFoundError) -> bool:
    top = (error.name or "").partition(".")[0]
    if top not in _ASIDE or top in _stood_in or top in sys.modules:
        return False
    _stood_in.append(top)
    if _FINDER not in sys.meta_path:
        sys.meta_path.append(_FINDER)
    return True


class _Anything:
    """Whatever is asked of it, it is that."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Anything()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """A decorator gives back what it is given."""
        return args[0] if len(args) == 1 and not kwargs and isinstance(args[0], (types.FunctionType, type)) else self

    def __or__(self, other: Any) -> Any:  # in annotations
        return self

    __ror__ = __or__


class _Empty(types.ModuleType):
    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Anything()


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Empty modules, after all that is installed."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if name.partition(".")[0] not in _stood_in:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return _Empty(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        """There is nothing in it."""


_FINDER = _Finder()
