"""The entries, by the forwards that they stand for."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

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


#: Of larger arrays the numbers take longer than what is to be said of them.
SMALL = 1024


@lru_cache(maxsize=1024)
def spreading(shape: tuple[int, ...], target: tuple[int, ...]) -> np.ndarray | None:
    """For each element of a small array of the target's shape, which one of an array of this shape it repeats; None
    where that need not be said."""
    if shape == target or not shape or not 0 < prod(target) <= SMALL:
        return None
    return np.broadcast_to(np.arange(prod(shape)).reshape(shape), target).copy()
