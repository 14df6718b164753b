"""Which classes belong together: what ops return may be of another class than the one that somebody names."""

from __future__ import annotations

import inspect

#: Modules whose classes say nothing of kinship.
_COMMON = ("builtins", "abc", "typing", "enum", "collections", "numpy", "object")


def is_related_type(kind: type, to: type, backward: str) -> bool:
    """Whether objects of a class are tensors as those of another are: it has the method that runs a backward pass, and
    they share a base of somebody's own, or are one class of one file that has been imported under two names."""
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
