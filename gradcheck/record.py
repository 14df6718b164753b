"""Records: dataclasses without a `__repr__` of their own, which takes longer to make than all else of a small class.
What every command loads at its start consists of such."""

from __future__ import annotations

from dataclasses import fields
from typing import Any


class Record:
    """The base of a dataclass with `repr=False`, which writes itself as any other dataclass does. Nothing may hold
    itself."""

    __slots__ = ()

    def __repr__(self) -> str:
        kind: Any = type(self)
        told = [f"{field.name}={getattr(self, field.name)!r}" for field in fields(kind) if field.repr]
        return f"{kind.__qualname__}({', '.join(told)})"
