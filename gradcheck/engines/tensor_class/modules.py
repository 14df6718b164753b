"""Modules around a Tensor class that may have functions on its tensors."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType

import numpy as np

from gradcheck.engines.folder_finder import is_foreign_module
from gradcheck.engines.tensor_class.user_code_guard import USER_EXCEPTIONS
from gradcheck.engines.user_modules import module_of_name


def modules_of(homes: Sequence[str], submodules: Sequence[str], neighbours: Sequence[str]) -> list[ModuleType]:
    """Return the modules, their packages, and importable likely submodules."""
    names: dict[str, None] = {}
    for home in homes:
        for base in dict.fromkeys((home.partition(".")[0], home, home.rpartition(".")[0])):
            if base and base != "builtins":
                names |= dict.fromkeys((base, *(f"{base}.{sub}" for sub in submodules)))
    found = [module for name in names if (module := _module(name)) is not None]
    return found + [module for home in homes for module in _neighbours(sys.modules.get(home), neighbours)]


def overrides_numpy(kind: type) -> bool:
    """Return whether a class overrides NumPy's functions."""
    protocol = ("__array_ufunc__", "__array_function__")
    return any(getattr(kind, name, None) not in (None, getattr(np.ndarray, name)) for name in protocol)


def _neighbours(home: ModuleType | None, names: Sequence[str]) -> Iterator[ModuleType]:
    """Yield files of usual names beside a module without a package."""
    file = getattr(home, "__file__", None)
    if home is None or file is None or "." in home.__name__ or (Path(file).parent / "__init__.py").is_file():
        return
    for name in names:
        path = Path(file).with_name(f"{name}.py")
        spec = PathFinder.find_spec(name, [str(path.parent)])
        if spec is None or spec.origin != str(path) or spec.origin == file:
            continue
        try:
            module = module_of_name(name, path.parent)
        except USER_EXCEPTIONS:
            continue
        if getattr(module, "__file__", None) == str(path):
            yield module


def _module(name: str) -> ModuleType | None:
    if name in sys.modules:
        return sys.modules[name]
    folders = getattr(sys.modules.get(name.rpartition(".")[0]), "__path__", None)
    spec = None if folders is None else PathFinder.find_spec(name, folders)
    if spec is None or not spec.has_location or is_foreign_module(spec):
        return None
    try:
        return import_module(name)
    except USER_EXCEPTIONS:
        return None
