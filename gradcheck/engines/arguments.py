"""The arguments of an op application: which arrays are among them, and the same call on other tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from gradcheck.autograd import dtypes

_NAMES = {dtype: name for name, dtype in dtypes.BY_NAME.items()}


def arrays(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Iterator[np.ndarray]:
    """Every array among the arguments, in order, also those in lists and tuples."""
    for value in args:
        yield from _arrays(value)
    for value in kwargs.values():
        yield from _arrays(value)


def rebuild(
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    tensor: Callable[[np.ndarray], Any],
    dtype: Callable[[str], Any],
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The same arguments with `tensor(array)` for each array, in `arrays`' order, and `dtype(name)` for dtypes."""

    def other(value: Any) -> Any:
        return dtype(_NAMES[value]) if isinstance(value, np.dtype) else value

    given = tuple(
        [tensor(value) if type(value) is np.ndarray else convert(value, np.ndarray, tensor, other) for value in args]
    )
    return given, {name: convert(value, np.ndarray, tensor, other) for name, value in kwargs.items()}


def convert(
    value: Any, kind: type, tensor: Callable[[Any], Any], other: Callable[[Any], Any] = lambda value: value
) -> Any:
    """`tensor(value)` for a value of this kind, also inside lists and tuples; `other(value)` for anything else."""
    if type(value) is kind:
        return tensor(value)
    if isinstance(value, (list, tuple)):
        return type(value)([convert(item, kind, tensor, other) for item in value])
    return other(value)


def _arrays(value: Any) -> Iterator[np.ndarray]:
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _arrays(item)
