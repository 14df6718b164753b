"""Gradients that a backward pass returns, and tensors do not keep."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from gradcheck.engines.tensor_class.dialects import KEYS
from gradcheck.engines.tensor_class.user_code_guard import USER_EXCEPTIONS


class ReturnedGradients:
    """The sums of gradients returned by passes over one graph."""

    def __init__(self) -> None:
        self._found: dict[Any, tuple[Any, np.ndarray]] = {}  # by the tensor's id, or its key

    def add(
        self, gradients: Iterable[tuple[Any, Any]], is_tensor: Callable[[Any], bool], array: Callable[[Any], Any]
    ) -> None:
        """Add the gradients of one pass, each with its tensor or key."""
        for key, gradient in gradients:
            values = array(gradient)
            if values is None:
                continue
            place = id(key) if is_tensor(key) else key
            _, so_far = self._found.get(place, (None, None))
            self._found[place] = key, np.array(values if so_far is None else so_far + values)

    def of(self, tensor: Any) -> np.ndarray | None:
        """Return the gradient of a tensor, if any."""
        found = next((self._found[place] for place in _places(tensor) if place in self._found), None)
        return None if found is None else found[1]

    def put(self, tensor: Any, gradient: np.ndarray | None) -> bool:
        """Clear or replace a tensor's gradient; return whether it could have one."""
        place = next((place for place in _places(tensor) if place in self._found), None)
        if gradient is None:
            return self._found.pop(place, None) is not None
        if place is None and self._found:
            place, key = self._new_place(tensor)
        elif place is not None:
            key = self._found[place][0]
        if place is None:
            return False
        self._found[place] = key, np.array(gradient)
        return True

    def _new_place(self, tensor: Any) -> tuple[Any, Any]:
        """Return the place and the key for a tensor without a gradient."""
        is_by_key = any(key is place for place, (key, _) in self._found.items())
        places = list(_places(tensor))[1:] if is_by_key else [id(tensor)]
        return (None, None) if not places else (places[0], places[0] if is_by_key else tensor)

    def clear(self) -> None:
        """Clear all gradients."""
        self._found = {}


def _places(tensor: Any) -> Iterator[Any]:
    yield id(tensor)
    for name in KEYS:
        try:
            key = getattr(tensor, name, None)
            hash(key)
        except USER_EXCEPTIONS:
            continue
        if isinstance(key, (int, str)) and key != "":
            yield key
