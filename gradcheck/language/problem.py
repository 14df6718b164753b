"""Problem: a case with concrete arrays, sizes and incoming gradients.

A tensor's name is `m` for an entry of the graph, and `m[0]` for the first of its tensors if it has several.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np

from gradcheck.language.case import Case
from gradcheck.language.trial_draws import NO_VARIATION, Variation


@dataclass(frozen=True, slots=True)
class DrawSettings:
    """The settings from which `sampling.draw` draws a problem's numbers."""

    seed: int = 0
    trial: int | None = None  # None: the case's own numbers; trials count from 0
    attempt: int = 0  # the number of earlier draws that did not fit the graph
    variation: Variation = NO_VARIATION


@dataclass(frozen=True, slots=True)
class Problem:
    """Arrays in their final dtypes, by name.

    `seeds[i]` holds the incoming gradients of step i, each in the shape of its root; None means 1.
    """

    case: Case
    inputs: Mapping[str, np.ndarray]
    constants: Mapping[str, np.ndarray]
    sizes: Mapping[str, int] = field(default_factory=dict)  # dims, and the words of `shapes`
    seeds: tuple[Mapping[str, np.ndarray | None], ...] = ()
    forwards: tuple[Mapping[str, np.ndarray], ...] = ()  # new input values of step i, {} unless it is a forward
    dtype: np.dtype = field(default_factory=lambda: np.dtype(np.float64))
    draw_settings: DrawSettings = DrawSettings()

    @property
    def seed(self) -> int:
        """The seed of its numbers, and of everything else drawn for it."""
        return self.draw_settings.seed

    def with_latest_inputs(self) -> Problem:
        """Return the problem with the inputs of its last forward."""
        changed = {name: array for arrays in self.forwards for name, array in arrays.items()}
        return replace(self, inputs={**self.inputs, **changed}) if changed else self

    def environment(self) -> dict[str, Any]:
        """Return the sizes and arrays that the graph's first entry may name."""
        return {**self.sizes, **self.inputs, **self.constants}


@lru_cache(maxsize=4096)
def split_name(tensor: str) -> tuple[str, tuple[int, ...]]:
    """Return the entry and the indices of a tensor: `("m", (0,))` for `m[0]`."""
    entry, bracket, rest = tensor.partition("[")
    return entry, tuple(int(index) for index in rest.removesuffix("]").split("][")) if bracket else ()


def named_parts(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield a value by name, or the parts of a tuple as `m[0]`, `m[1]`."""
    if isinstance(value, (tuple, list)):
        for index, part in enumerate(value):
            yield from named_parts(f"{name}[{index}]", part)
    else:
        yield name, value


def tensor_value(values: Mapping[str, Any], tensor: str) -> Any:
    """Return a tensor's value by name; raise LookupError if there is none."""
    entry, indices = split_name(tensor)
    value = values[entry]
    for index in indices:
        if not isinstance(value, (tuple, list)):
            raise LookupError(f"{tensor}: {entry} is one tensor")
        value = value[index]
    return value


def with_tensor_value(whole: Any, indices: tuple[int, ...], part: Any) -> Any:
    """Return an entry's value, one tensor replaced; raise LookupError."""
    if not indices:
        return part
    if not isinstance(whole, (tuple, list)) or indices[0] >= len(whole):
        raise LookupError(f"there is no part {indices[0]}")
    return tuple(with_tensor_value(one, indices[1:], part) if i == indices[0] else one for i, one in enumerate(whole))
