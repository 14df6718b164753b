"""Names of ops as attributes of whatever ops can be applied to.

Each is an attribute of the class, and not found by `__getattr__`: for a class that has one Python looks every attribute
up the long way, ten times as long.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar


class Methods:
    """What has an attribute for every name that was offered."""

    __slots__ = ()


class Offered:
    """The attribute of this name, until somebody asks for it.

    find  `find(name, kind)` gives the attribute of that class and sets it, or raises AttributeError
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
