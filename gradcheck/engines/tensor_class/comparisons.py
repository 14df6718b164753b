"""The number of comparisons between objects, as in searches of lists.

Python searches a list without a visible call. So classes that compare by identity, as they do by default, get an `==`
with the same result that is counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Any


class ComparisonCount:
    """The number of comparisons."""

    def __init__(self) -> None:
        self.number = 0


@contextmanager
def count_comparisons(homes: Sequence[Any]) -> Iterator[ComparisonCount]:
    """Count comparisons of objects of these classes, or modules' classes."""
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
    """Return classes, and those defined in the modules."""
    found: dict[type, None] = {}
    for home in homes:
        if isinstance(home, ModuleType):
            own = (value for value in vars(home).values() if getattr(value, "__module__", None) == home.__name__)
            found |= {value: None for value in own if type(value) is type}
        elif type(home) is type:
            found[home] = None
    return list(found)


def _compares_by_identity(kind: type) -> bool:
    """Return whether a class inherits `==` and hash from `object`."""
    names = {name for above in kind.__mro__[:-1] for name in vars(above)}
    return not names & {"__eq__", "__hash__"}
