"""Records: dataclasses without a `__repr__` of their own, which takes longer to make than all else of a small class.
What every command loads at its start consists of such."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

__all__ = ["Record", "record"]

if TYPE_CHECKING:
    from dataclasses import dataclass as record
else:

    def record(*, frozen: bool = False, eq: bool = True, **options: bool) -> Any:
        """A dataclass that nobody changes, which type checkers see to and Python does not: to refuse it, Python sets
        every field by a call, which makes three times as much of what each case file is made of dozens of times.

        It has a hash as a frozen one has. Takes what `dataclass` takes.
        """
        return dataclass(eq=eq, unsafe_hash=frozen and eq, **options)


class Record:
    """The base of a dataclass with `repr=False`, which writes itself as any other dataclass does. Nothing may hold
    itself."""

    __slots__ = ()

    def __repr__(self) -> str:
        kind: Any = type(self)
        told = [f"{field.name}={getattr(self, field.name)!r}" for field in fields(kind) if field.repr]
        return f"{kind.__qualname__}({', '.join(told)})"
