"""How large an op's result will be, asked before it is computed, so that no case can exhaust the machine."""

from __future__ import annotations

import math
from typing import Any

from gradcheck.autograd.op import Op
from gradcheck.errors import TooLarge

MAX_ELEMENTS = 10**8


def check(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any], limit: int) -> None:
    """Raise TooLarge if the result would have more than `limit` elements."""
    if op.elements is not None:
        count = _stated(op, args, kwargs)
    elif op.elementwise:
        count = _broadcast(args)
    else:
        return
    if count > limit:
        raise TooLarge(f"{op.name} would make a tensor of {count:,} elements, where {limit:,} are allowed")


def _stated(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
    bound = op.bind(args, kwargs)
    try:
        return int(op.elements(*bound)) if op.elements is not None else 0
    except (TypeError, ValueError, AttributeError, IndexError, KeyError, OverflowError):
        return 0  # arguments that make no sense: the op itself says so, in its own words


def _broadcast(args: tuple[Any, ...]) -> int:
    first: Any = None
    for arg in args:
        shape = getattr(arg, "shape", None)
        if shape is None or shape == first:
            continue
        if first is not None:
            return _joint([tuple(a.shape) for a in args if hasattr(a, "shape")])
        first = shape
    return 0


def _joint(shapes: list[tuple[int, ...]]) -> int:
    longest = max(map(len, shapes))
    padded = [(1,) * (longest - len(shape)) + shape for shape in shapes]
    return math.prod(max(sizes) if min(sizes) else 0 for sizes in zip(*padded, strict=True))
