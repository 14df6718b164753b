"""Arrays of somebody's own, in which a Tensor class may keep its numbers: read by what they say of themselves."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcheck.engines.tensor_class.user_code_guard import USER_EXCEPTIONS

#: Methods that give all the numbers, in lists or in an array.
_WHOLE = ("numpy", "to_numpy", "asnumpy", "tolist", "to_list")
#: More elements than this are not asked for one by one.
MAX_ELEMENTS = 4_096


def is_storage(thing: Any) -> bool:
    """Whether it is an array of somebody's own: it has a shape, and is neither NumPy's nor anything that gives one."""
    return not isinstance(thing, (type, np.ndarray, np.generic, memoryview)) and _shape(thing) is not None


def array_of(thing: Any) -> np.ndarray | None:
    """The numbers of such an array; None where they cannot be had."""
    shape = _shape(thing)
    if shape is None or isinstance(thing, type):
        return None
    for name in _WHOLE:
        try:
            array = np.asarray(getattr(thing, name)())
        except USER_EXCEPTIONS:
            continue
        if array.shape == shape and array.dtype.kind in "biufc":
            return array
    if np.prod(shape) > MAX_ELEMENTS:
        return None
    try:
        return np.array([_element(thing, index) for index in np.ndindex(shape)], float).reshape(shape)
    except USER_EXCEPTIONS:
        return _flat(thing, shape)


def _shape(thing: Any) -> tuple[int, ...] | None:
    try:
        shape = getattr(thing, "shape", None)
    except USER_EXCEPTIONS:
        return None
    known = isinstance(shape, (tuple, list)) and all(type(size) is int for size in shape)
    return tuple(shape) if known else None  # type: ignore[arg-type]


def _element(thing: Any, index: tuple[int, ...]) -> float:
    """By all indices at once, else by one after the other."""
    try:
        found = thing[index]
    except USER_EXCEPTIONS:
        found = thing
        for one in index:
            found = found[one]
    return float(found.item() if hasattr(found, "item") else found)


def _flat(thing: Any, shape: tuple[int, ...]) -> np.ndarray | None:
    """A list of as many numbers as there are elements."""
    for name in ("data", "_data", "flat", "buffer", "_buffer", "storage", "values"):
        numbers = getattr(thing, name, None)
        if isinstance(numbers, (list, tuple)) and len(numbers) == np.prod(shape):
            try:
                return np.array(numbers, float).reshape(shape)
            except USER_EXCEPTIONS:
                continue
    return None
