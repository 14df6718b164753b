"""Attributes and methods of a tensor under several names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradcheck.engines.tensor_class.storages import is_storage

_MISSING = object()


def method_of(tensor: Any, names: tuple[str, ...]) -> Callable[..., Any] | None:
    """Return the first method of these names, if any."""
    methods = (getattr(tensor, name, None) for name in names)
    return next((method for method in methods if callable(method)), None)


def vars_of(thing: Any) -> list[str]:
    """Return the names of an object's own attributes."""
    slots = (name for kind in type(thing).__mro__ for name in getattr(kind, "__slots__", ()))
    return [*getattr(thing, "__dict__", ()), *(name for name in slots if hasattr(thing, name))]


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
