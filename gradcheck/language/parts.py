"""Names of tensors: `m` is an entry of the graph, `m[0]` the first of its tensors where it has several."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any


@lru_cache(maxsize=4096)
def split_name(tensor: str) -> tuple[str, tuple[int, ...]]:
    """The entry, and the indices of the part in it: `("m", (0,))` for `m[0]`, `("m", ())` for `m`."""
    entry, bracket, rest = tensor.partition("[")
    return entry, tuple(int(index) for index in rest.removesuffix("]").split("][")) if bracket else ()


def part_of(values: Mapping[str, Any], tensor: str) -> Any:
    """The value of the tensor of this name. Raises LookupError where there is none."""
    entry, indices = split_name(tensor)
    value = values[entry]
    for index in indices:
        if not isinstance(value, (tuple, list)):
            raise LookupError(f"{tensor}: {entry} is one tensor")
        value = value[index]
    return value


def with_part(whole: Any, indices: tuple[int, ...], part: Any) -> Any:
    """The value of an entry with one of its tensors replaced. Raises LookupError where there is none."""
    if not indices:
        return part
    if not isinstance(whole, (tuple, list)) or indices[0] >= len(whole):
        raise LookupError(f"there is no part {indices[0]}")
    return tuple(with_part(one, indices[1:], part) if i == indices[0] else one for i, one in enumerate(whole))
