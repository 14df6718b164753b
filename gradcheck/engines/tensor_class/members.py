"""What a tensor has under one of several names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

_MISSING = object()


def method_of(tensor: Any, names: tuple[str, ...]) -> Callable[..., Any] | None:
    """The first method of these names; None where there is none."""
    methods = (getattr(tensor, name, None) for name in names)
    return next((method for method in methods if callable(method)), None)


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
