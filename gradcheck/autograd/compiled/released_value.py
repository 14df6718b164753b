"""Stand-ins for values that a graph no longer keeps: a shape and a dtype, and nothing to read."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np


class ReleasedRead(Exception):
    """Raised where a value is read that was released; it can be computed again."""


class ReleasedArray(np.ndarray):
    """An array of which only shape and dtype are known. Computing with it raises ReleasedRead."""

    def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise ReleasedRead

    __array_ufunc__ = __array_function__ = _refuse


def released(shape: tuple[int, ...], dtype: np.dtype | None) -> ReleasedArray:
    """Return a stand-in of this shape and dtype; it takes no memory."""
    return np.ndarray.view(np.broadcast_to(np.full((), np.nan, dtype), shape), ReleasedArray)
