"""The values of a tensor in unusual places, or computed lazily."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from gradcheck.engines.tensor_class import dialects
from gradcheck.engines.tensor_class.members import candidates, method_of
from gradcheck.engines.tensor_class.user_code_guard import USER_EXCEPTIONS

#: Returns an array of numbers; None for any other value.
ToArray = Callable[[Any], np.ndarray | None]


def read_fallback_values(tensor: Any, plain: ToArray) -> np.ndarray | None:
    """Return values by any attribute, or detached, or computed."""
    array = _first_readable(tensor, plain)
    detach = method_of(tensor, dialects.DETACH_METHODS) if array is None else None
    array = array if detach is None else _first_readable(detach(), plain)
    return _realized_values(tensor, plain) if array is None else array


def _realized_values(tensor: Any, plain: ToArray) -> np.ndarray | None:
    for name in dialects.REALIZE_METHODS:
        with suppress(*USER_EXCEPTIONS):
            made = getattr(tensor, name)()
            array = plain(made)
            for one in (made, tensor) if array is None else ():
                array = _first_readable(one, plain) if array is None else array
            if array is not None:
                return array
    return None


def _first_readable(tensor: Any, plain: ToArray) -> np.ndarray | None:
    for name in (*dialects.VALUES, *dialects.VALUE_METHODS):
        with suppress(*USER_EXCEPTIONS):
            for candidate in candidates(tensor, (name,), ()):
                array = plain(candidate)
                if array is not None:
                    return array
    return plain(tensor) if hasattr(tensor, "__array__") else None
