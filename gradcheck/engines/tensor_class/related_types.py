"""The relation of classes: an op may return another than the named one."""

from __future__ import annotations

import inspect

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
