"""What a tensor has under one of several names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradcheck.engines.tensor_class.storages import is_storage

_MISSING = object()


def method_of(tensor: Any, names: tuple[str, ...]) -> Callable[..., Any] | None:
    """The first method of these names; None where there is none."""
    methods = (getattr(tensor, name, None) for name in names)
    return next((method for method in methods if callable(method)), None)


def vars_of(thing: Any) -> list[str]:
    """The names of what an object itself has."""
    slots = (name for kind in type(thing).__mro__ for name in getattr(kind, "__slots__", ()))
    return [*getattr(thing, "__dict__", ()), *(name for name in slots if hasattr(thing, name))]


def candidates(tensor: Any, names: tuple[str, ...], methods: tuple[str, ...]) -> Iterator[Any]:
    """What these attributes and methods give, where the tensor has them."""
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
    """The values of a tensor that is made afresh wherever it is needed."""

    array: np.ndarray


def copied(gradient: Any) -> Any:
    """A copy of what is no tensor of the class's, if it is an array: NumPy's, torch's or another's."""
    return deepcopy(gradient) if hasattr(gradient, "__array__") or is_storage(gradient) else gradient
