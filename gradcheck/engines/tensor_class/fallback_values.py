"""The values of a tensor that has them not where most have: given by something else, or when they are computed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from gradcheck.engines.tensor_class import dialects
from gradcheck.engines.tensor_class.user_code_guard import ANYTHING
from gradcheck.engines.tensor_class.members import candidates, method_of

#: Makes an array of what may be numbers; None of what is none.
Plain = Callable[[Any], np.ndarray | None]


def read_otherwise(tensor: Any, plain: Plain) -> np.ndarray | None:
    """By what gives numbers after another has raised; else by what it is without a gradient, as torch wants it; else
    after it has been told to compute them."""
    array = _by_whatever_does(tensor, plain)
    detach = method_of(tensor, dialects.DETACHING) if array is None else None
    array = array if detach is None else _by_whatever_does(detach(), plain)
    return _realized(tensor, plain) if array is None else array


def _realized(tensor: Any, plain: Plain) -> np.ndarray | None:
    for name in dialects.REALIZING:
        with suppress(*ANYTHING):
            made = getattr(tensor, name)()
            array = plain(made)
            for one in (made, tensor) if array is None else ():
                array = _by_whatever_does(one, plain) if array is None else array
            if array is not None:
                return array
    return None


def _by_whatever_does(tensor: Any, plain: Plain) -> np.ndarray | None:
    for name in (*dialects.VALUES, *dialects.VALUE_METHODS):
        with suppress(*ANYTHING):
            for candidate in candidates(tensor, (name,), ()):
                array = plain(candidate)
                if array is not None:
                    return array
    return plain(tensor) if hasattr(tensor, "__array__") else None
