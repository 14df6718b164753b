"""Stand-ins for values that a graph does not keep: a shape and a dtype, and nothing to read."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np


class Gone(Exception):
    """Somebody reads a value that was let go; it can be computed again."""


class Absent(np.ndarray):
    """An array of which only shape and dtype are known. Whatever computes with it raises Gone."""

    def _gone(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise Gone

    __array_ufunc__ = __array_function__ = _gone


def absent(shape: tuple[int, ...], dtype: np.dtype | None) -> Absent:
    """One of this shape and dtype; it takes no memory."""
    return np.ndarray.view(np.broadcast_to(np.full((), np.nan, dtype), shape), Absent)
