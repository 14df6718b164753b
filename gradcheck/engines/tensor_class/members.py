"""A tensor's members under several names, and modules with its functions."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass
from importlib import import_module
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from gradcheck.engines.folder_finder import is_foreign_module
from gradcheck.engines.tensor_class import dialects
from gradcheck.engines.tensor_class.user_code_guard import USER_EXCEPTIONS
from gradcheck.engines.user_modules import module_of_name

_MISSING = object()


def method_of(tensor: Any, names: tuple[str, ...]) -> Callable[..., Any] | None:
    """Return the first method of these names, if any."""
    methods = (getattr(tensor, name, None) for name in names)
    return next((method for method in methods if callable(method)), None)


def vars_of(thing: Any) -> list[str]:
    """Return the names of an object's own attributes."""
    slots = (name for kind in type(thing).__mro__ for name in getattr(kind, "__slots__", ()))
    return [*getattr(thing, "__dict__", ()), *(name for name in slots if hasattr(thing, name))]


def set_attribute(tensor: Any, name: str, value: Any) -> None:
    """Set an attribute; raise AttributeError if it would hide a method."""
    if callable(getattr(type(tensor), name, None)):
        raise AttributeError(f"{name} is a method")
    setattr(tensor, name, value)


def candidates(tensor: Any, names: tuple[str, ...], methods: tuple[str, ...]) -> Iterator[Any]:
    """Yield the values of these attributes and methods, if there are any."""
    for name in names:
        found = getattr(tensor, name, _MISSING)
        if found is not _MISSING:
            yield found() if callable(found) and not hasattr(found, "__array__") else found
    for name in methods:
        found = getattr(tensor, name, None)
        if callable(found):
            yield found()


@dataclass(frozen=True, slots=True)
class FreshTensor:
    """The values of a tensor to be made anew at each use."""

    array: np.ndarray


def copied(gradient: Any) -> Any:
    """Return a copy of an array of any library; other values unchanged."""
    return deepcopy(gradient) if hasattr(gradient, "__array__") or is_storage(gradient) else gradient


# Values in unusual places -------------------------------------------------------------------------


#: Returns an array of numbers; None for any other value.
ToArray = Callable[[Any], np.ndarray | None]


def read_fallback_values(tensor: Any, plain: ToArray) -> np.ndarray | None:
    """Return values by any attribute, or detached, or computed."""
    array = _first_readable(tensor, plain)
    detach = method_of(tensor, dialects.DETACH_METHODS) if array is None else None
    array = array if detach is None else _first_readable(detach(), plain)
    return _realized_values(tensor, plain) if array is None else array


def realized_if_unset(array: np.ndarray, tensor: Any, plain: ToArray) -> np.ndarray:
    """Return what was read, or, if all is NaN, what a method computes."""
    is_unset = array.dtype.kind == "f" and array.size > 0 and np.isnan(array).all()
    computed = _realized_values(tensor, plain) if is_unset else None
    return array if computed is None else computed


def _realized_values(tensor: Any, plain: ToArray) -> np.ndarray | None:
    for name in (*dialects.REALIZE_METHODS, "__call__"):
        with suppress(*USER_EXCEPTIONS):
            made = getattr(tensor, name)()
            array = plain(made)
            for one in (made, tensor) if array is None else ():
                array = _first_readable(one, plain) if array is None else array
            if array is not None:
                return array
    return None


def _first_readable(tensor: Any, plain: ToArray) -> np.ndarray | None:
    for name in (*dialects.VALUES, *dialects.VALUE_METHODS):
        with suppress(*USER_EXCEPTIONS):
            for candidate in candidates(tensor, (name,), ()):
                array = plain(candidate)
                if array is not None:
                    return array
    return plain(tensor) if hasattr(tensor, "__array__") else None


# Related classes ----------------------------------------------------------------------------------


#: Modules whose classes show no relation.
_COMMON = ("builtins", "abc", "typing", "enum", "collections", "numpy", "object")


def is_related_type(kind: type, to: type, backward: str) -> bool:
    """Return whether objects of a class are tensors like those of another.

    It has the backward method, and shares a user's base class, or is the same class imported under two names."""
    if backward and not callable(getattr(kind, backward, None)):
        return False
    shared = set(kind.__mro__) & set(to.__mro__)
    if any(base.__module__.partition(".")[0] not in _COMMON for base in shared):
        return True
    return kind.__qualname__ == to.__qualname__ and _file(kind) == _file(to) != ""


def _file(kind: type) -> str:
    try:
        return inspect.getfile(kind)
    except (TypeError, OSError):
        return ""


#: Methods that return all numbers, in lists or in an array.
_WHOLE = ("numpy", "to_numpy", "asnumpy", "tolist", "to_list")
#: The limit of elements that are read one by one.
MAX_ELEMENTS = 4_096


def is_storage(thing: Any) -> bool:
    """Return whether an object has a shape, and is no NumPy array."""
    return not isinstance(thing, (type, np.ndarray, np.generic, memoryview)) and _shape(thing) is not None


def array_of(thing: Any) -> np.ndarray | None:
    """Return the numbers of such an array, if they can be read."""
    shape = _shape(thing)
    if shape is None or isinstance(thing, type):
        return None
    for name in _WHOLE:
        try:
            array = np.asarray(getattr(thing, name)())
        except USER_EXCEPTIONS:
            continue
        if array.shape == shape and array.dtype.kind in "biufc":
            return array
    if np.prod(shape) > MAX_ELEMENTS:
        return None
    try:
        return np.array([_element(thing, index) for index in np.ndindex(shape)], float).reshape(shape)
    except USER_EXCEPTIONS:
        return _flat(thing, shape)


def _shape(thing: Any) -> tuple[int, ...] | None:
    try:
        shape = getattr(thing, "shape", None)
    except USER_EXCEPTIONS:
        return None
    known = isinstance(shape, (tuple, list)) and all(type(size) is int for size in shape)
    return tuple(shape) if known else None  # type: ignore[arg-type]


def _element(thing: Any, index: tuple[int, ...]) -> float:
    """Read an element by all indices at once, else one by one."""
    try:
        found = thing[index]
    except USER_EXCEPTIONS:
        found = thing
        for one in index:
            found = found[one]
    return float(found.item() if hasattr(found, "item") else found)


def _flat(thing: Any, shape: tuple[int, ...]) -> np.ndarray | None:
    """Read an array, or a list with as many numbers as there are elements."""
    for name in ("data", "_data", "flat", "buffer", "_buffer", "storage", "values"):
        numbers = getattr(thing, name, None)
        if isinstance(numbers, np.ndarray) and numbers.shape == shape and numbers.dtype.kind in "biufc":
            return numbers
        if isinstance(numbers, (list, tuple)) and len(numbers) == np.prod(shape):
            try:
                return np.array(numbers, float).reshape(shape)
            except USER_EXCEPTIONS:
                continue
    return None


# Modules that may have functions on tensors --------------------------------------------------------


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
