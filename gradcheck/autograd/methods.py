"""Names of ops as attributes of tensors and formulas.

Each is an attribute of the class; with `__getattr__`, Python would look up every attribute ten times as slowly.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar


class Methods:
    """A class with an attribute for every offered name."""

    __slots__ = ()


class Offered:
    """A placeholder for an attribute until its first use.

    find  `find(name, kind)` returns the attribute of that class and sets it, or raises AttributeError
    """

    __slots__ = ("_name",)
    find: ClassVar[Callable[[str, type], Any]]

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, owner: Any, kind: type) -> Any:
        return type(self).find(self._name, kind).__get__(owner, kind)


def offer(name: str) -> None:
    """Let an op be found by this name."""
    if name not in vars(Methods) and name.isidentifier():
        setattr(Methods, name, Offered(name))
