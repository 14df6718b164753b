"""Where functions on somebody's tensors may be: modules around the one that has the class."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType

import numpy as np

from gradcheck.engines.tensor_class.user_code_guard import USER_EXCEPTIONS
from gradcheck.engines.user_modules import module_of_name


def modules_of(homes: Sequence[str], submodules: Sequence[str], neighbours: Sequence[str]) -> list[ModuleType]:
    """The modules of these names; the package and the module of each; and what they have by usual names, which is
    imported where it can be."""
    names: dict[str, None] = {}
    for home in homes:
        for base in dict.fromkeys((home.partition(".")[0], home, home.rpartition(".")[0])):
            if base and base != "builtins":
                names |= dict.fromkeys((base, *(f"{base}.{sub}" for sub in submodules)))
    found = [module for name in names if (module := _module(name)) is not None]
    return found + [module for home in homes for module in _neighbours(sys.modules.get(home), neighbours)]


def overrides_numpy(kind: type) -> bool:
    """Whether a class is asked what NumPy's functions of its tensors come to; of one that is an array NumPy knows."""
    protocol = ("__array_ufunc__", "__array_function__")
    return any(getattr(kind, name, None) not in (None, getattr(np.ndarray, name)) for name in protocol)


def _neighbours(home: ModuleType | None, names: Sequence[str]) -> Iterator[ModuleType]:
    """Files by usual names beside that of a module that is in no package, imported where they can be."""
    file = getattr(home, "__file__", None)
    if home is None or file is None or "." in home.__name__ or (Path(file).parent / "__init__.py").is_file():
        return
    for name in names:
        path = Path(file).with_name(f"{name}.py")
        if path.is_file() and str(path) != file:
            try:
                module = module_of_name(name, path.parent)
            except USER_EXCEPTIONS:  # what cannot be imported is not there
                continue
            if getattr(module, "__file__", None) == str(path):
                yield module


def _module(name: str) -> ModuleType | None:
    """The module of this name; None where it is none that its package has."""
    if name in sys.modules:
        return sys.modules[name]
    parent, _, short = name.rpartition(".")
    folders = getattr(sys.modules.get(parent), "__path__", None)
    if folders is None or not any(one.name == short for one in iter_modules(folders)):
        return None
    try:
        return import_module(name)
    except USER_EXCEPTIONS:  # what cannot be imported is not there
        return None
