"""How often a library asks whether two of its own objects are the same: what looking for one in a list costs.

Python looks through a list without a call that could be seen. So classes that compare by identity, as any do that say
nothing of it, are given an `==` that says the same and is counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Any


class ComparisonCount:
    """How many comparisons there have been."""

    def __init__(self) -> None:
        self.number = 0


@contextmanager
def count_comparisons(homes: Sequence[Any]) -> Iterator[ComparisonCount]:
    """Comparisons of objects whose classes are in these modules, or are among these classes, meanwhile."""
    count = ComparisonCount()

    def is_same(self: object, other: object) -> Any:
        count.number += 1
        return True if self is other else NotImplemented

    changed = [kind for kind in _classes(homes) if _compares_by_identity(kind)]
    try:
        for kind in changed:
            kind.__eq__ = is_same  # type: ignore[assignment]  # its hash stays
        yield count
    finally:
        for kind in changed:
            if kind.__dict__.get("__eq__") is is_same:
                del kind.__eq__


def _classes(homes: Sequence[Any]) -> list[type]:
    """Classes, and those that are at home in the modules."""
    found: dict[type, None] = {}
    for home in homes:
        if isinstance(home, ModuleType):
            own = (value for value in vars(home).values() if getattr(value, "__module__", None) == home.__name__)
            found |= {value: None for value in own if type(value) is type}
        elif type(home) is type:
            found[home] = None
    return list(found)


def _compares_by_identity(kind: type) -> bool:
    """Whether nothing below `object` says when two are equal, or what an object's hash is."""
    names = {name for above in kind.__mro__[:-1] for name in vars(above)}
    return not names & {"__eq__", "__hash__"}
