"""The entries, by the forwards that they stand for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradcheck.autograd.op import TABLE

Function = Callable[..., Any]
#: By an op's forward what prepares it.
PREPARED: dict[Callable[..., Any], Callable[..., Function | None]] = {}


def prepares(*names: str) -> Callable[[Any], Any]:
    """Enter a function for these ops."""

    def enter(prepare: Any) -> Any:
        for name in names:
            PREPARED[TABLE[name].forward] = prepare
        return prepare

    return enter


def is_float(x: Any, dtype: Any = None) -> bool:
    """Whether an array is of floats, and `dtype`, if it is given, the same."""
    return x.dtype.kind == "f" and dtype in (None, x.dtype)
