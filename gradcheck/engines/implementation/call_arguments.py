"""Arguments of a Python call: operands, and objects that are handed on.

Tuples, lists and dicts that hold operands are taken apart, and put together again for each call.
"""

from __future__ import annotations

import copy
import random
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from gradcheck.engines.implementation.mentioned_code import mentioned


@dataclass(frozen=True, slots=True)
class Operand:
    """The place of an operand within an argument."""

    name: str
    is_parameter: bool = False  # of torch, which a module registers


def operand_of(name: str, value: Any) -> Operand:
    """Return the place of a value that is an operand."""
    torch = sys.modules.get("torch")
    return Operand(name, torch is not None and isinstance(value, torch.nn.Parameter))


def parts_of(value: Any) -> list[tuple[Any, Any]]:
    """Return the keys and values of a tuple, list or dict; [] for all else."""
    if isinstance(value, (tuple, list)):
        return list(enumerate(value))
    return list(value.items()) if isinstance(value, dict) else []


def leaves_of(value: Any) -> Iterator[Any]:
    """Yield the innermost values of nested tuples, lists and dicts."""
    if not isinstance(value, (tuple, list, dict)):
        yield value
    for _, part in parts_of(value):
        yield from leaves_of(part)


def with_parts(value: Any, parts: list[Any]) -> Any:
    """Return a structure of the same kind over other parts."""
    if isinstance(value, dict):
        made = copy.copy(value)
        made.update(zip(value, parts, strict=True))
        return made
    if isinstance(value, tuple):
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return parts


def take_apart(name: str, value: Any, is_operand: Callable[[Any], bool], taken: set[str]) -> tuple[Any, dict[str, Any]]:
    """Return the argument with an `Operand` in each place, and the values.

    The element `k` of an argument `p` is called `p_k`, with `_` behind it if that is `taken`. Structures without
    operands stay the same object."""
    if is_operand(value):
        while name in taken:
            name += "_"
        taken.add(name)
        return operand_of(name, value), {name: value}
    operands: dict[str, Any] = {}
    parts = []
    for number, (key, part) in enumerate(parts_of(value)):
        word = f"{name}_{key}"
        made, found = take_apart(word if word.isidentifier() else f"{name}_{number}", part, is_operand, taken)
        parts.append(made)
        operands |= found
    return (with_parts(value, parts), operands) if operands else (value, {})


def put_together(value: Any, tensors: Mapping[str, Any]) -> Any:
    """Return the argument with the tensors at the places of its operands."""
    if isinstance(value, Operand):
        tensor = tensors[value.name]
        if value.is_parameter and tensor.is_leaf:
            tensor._is_param = True  # by this torch tells a Parameter
        return tensor
    parts = [part for _, part in parts_of(value)]
    made = [put_together(part, tensors) for part in parts]
    return value if all(new is old for new, old in zip(made, parts, strict=True)) else with_parts(value, made)


def operands_in(value: Any) -> list[str]:
    """Return the names of the operands in an argument."""
    return [leaf.name for leaf in leaves_of(value) if isinstance(leaf, Operand)]


# Generators ---------------------------------------------------------------------------------------

_State = tuple[Callable[[Any], object], Any]


def generator_states(function: Any, objects: Iterable[Any]) -> list[_State]:
    """Return a setter and the state of each generator that a call uses.

    It is among the arguments, or the function mentions it, also by `functools.partial` and in its closure."""
    given = (leaf for value in objects for leaf in leaves_of(value))
    found = {id(one): one for one in (*given, *mentioned(function))}
    return [state for one in found.values() if (state := _state_of(one)) is not None]


def _state_of(value: Any) -> _State | None:
    torch = sys.modules.get("torch")  # not imported before code runs
    if torch is not None and isinstance(value, torch.Generator):
        return value.set_state, value.get_state()
    if isinstance(value, np.random.Generator):
        bits = value.bit_generator
        return partial(setattr, bits, "state"), copy.deepcopy(bits.state)
    if isinstance(value, np.random.RandomState):
        return value.set_state, value.get_state()
    return (value.setstate, value.getstate()) if isinstance(value, random.Random) else None


@contextmanager
def restored_generators(states: Iterable[_State]) -> Iterator[None]:
    """Start the block with these states, and leave them as they are now."""
    for restore, state in states:
        restore(state)
    try:
        yield
    finally:
        for restore, state in states:
            restore(state)
