"""Release large values that can no longer be read.

No rule reads `h * w` of `h * w + x`, and no name refers to it. A graph holds its nodes, and these hold their values.
torch keeps the values that rules read, and frees all others with their handles. Here the handle is the node itself, so
references are counted: a node to which only other nodes refer has no name. When a large result is made, a few nodes
behind it are examined. `CompiledNode.data` computes a released value again.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, NoReturn

import numpy as np

from gradcheck.autograd.modes import no_grad, quiet
from gradcheck.autograd.node import Node
from gradcheck.autograd.op import Op
from gradcheck.autograd.pullback import cotangent_of

#: Smaller values are kept.
LARGE = 1 << 16
#: How many nodes are examined: at least, one more for so many elements of the result, and at most.
_MIN_EXAMINED, _ELEMENTS_PER_NODE, _MAX_EXAMINED = 3, 1 << 16, 64
#: Counts the references to an object; -1 where Python does not.
reference_count: Callable[[object], int] = getattr(sys, "getrefcount", lambda _: -1)


class ReleasedRead(Exception):
    """Raised on reading a released value, which can be computed again."""


class ReleasedArray(np.ndarray):
    """A released value's shape and dtype; any computation raises ReleasedRead."""

    def _raise(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise ReleasedRead

    __array_ufunc__ = __array_function__ = _raise


def released(shape: tuple[int, ...], dtype: np.dtype | None) -> ReleasedArray:
    """Return a stand-in of this shape and dtype; it takes no memory."""
    return np.ndarray.view(np.broadcast_to(np.full((), np.nan, dtype), shape), ReleasedArray)


def release_dead_values(made_of: Iterable[Any], size: int) -> None:
    """Release the unreadable values behind the arguments of a new result."""
    held = _releasable_nodes(made_of, min(_MAX_EXAMINED, _MIN_EXAMINED + size // _ELEMENTS_PER_NODE))
    found = list(held)
    for place, count in enumerate(_references_from_outside(found, held)):
        if count == _NONE_FROM_OUTSIDE:
            found[place].array = found[place].form.released()


def _releasable_nodes(made_of: Iterable[Any], most: int) -> dict[Any, int]:
    """Return the nodes with releasable values, and their counted references."""
    starts = dict.fromkeys([node for node in made_of if isinstance(node, Node) and node.creation_op is not None])
    seen: list[Any] = list(starts)
    kept = set()
    held: dict[Any, int] = {}
    for node in seen:  # which grows
        reads = _reads(node)
        for place, creator in enumerate(node.creators):
            if creator.creation_op is None:
                continue
            if creator not in held:
                held[creator] = 0
                if creator not in starts:
                    seen.append(creator)
            held[creator] += 1
            if place in reads.creators:
                kept.add(creator)
        if len(seen) > most:
            break
    return {node: count for node, count in held.items() if node not in kept and _is_releasable(node)}


def _is_releasable(node: Any) -> bool:
    """Return whether a value is large, recomputable, and read by no rule."""
    array = node.array
    return (
        type(array) is np.ndarray
        and array.size >= LARGE
        and array.base is None
        and node.creation_op.elementwise
        and not node.freed
        and not _reads(node).result
        and (node.form or node.find_form()).dtype is not None
    )


def _references_from_outside(found: list[Any], held: dict[Any, int]) -> list[int]:
    """Return how many uncounted references there are to each node."""
    return [reference_count(node) - held[node] for node in found]


def _count_without_names() -> int:
    found = [object()]
    return _references_from_outside(found, {found[0]: 0})[0]


#: The count for an object to which only this search refers; versions of Python differ in it.
_NONE_FROM_OUTSIDE = max(_count_without_names(), 0)


# Gradients that are overwritten ------------------------------------------------------------------------


def overwritable(gradient: np.ndarray, *operands: np.ndarray) -> np.ndarray | None:
    """Return the sweep's gradient if its plan may write there, else None.

    The plan may if only the sweep holds the gradient, and the gradient and all operands lie row by row, as the result
    will. For large arrays this saves a third of the memory traffic.
    """
    if reference_count(gradient) != _HELD_BY_SWEEP or gradient.base is not None or not gradient.flags.c_contiguous:
        return None
    alike = all(one.shape == gradient.shape and one.flags.c_contiguous for one in operands)
    return gradient if alike and gradient.flags.writeable else None


def _count_in_sweep() -> int:
    gradient = np.zeros(1)
    return _count_in_plan(gradient)


def _count_in_plan(gradient: np.ndarray) -> int:
    return _count_in_call(gradient, gradient[:0])


def _count_in_call(gradient: np.ndarray, *operands: np.ndarray) -> int:
    return reference_count(gradient)


#: The count for a gradient that only the sweep holds, found by the same kinds of calls.
_HELD_BY_SWEEP = max(_count_in_sweep(), 0)


# What rules read ---------------------------------------------------------------------------------------


class Reads(NamedTuple):
    """The values that an op's rules read: the result, places of creators."""

    result: bool
    creators: frozenset[int]


def _reads(node: Any) -> Reads:
    """Return the values that a node's rules read, by its plan if known."""
    if node.plan is not None and node.plan.reads is not None:
        return node.plan.reads  # type: ignore[no-any-return]
    found = reads_of_call(node.creation_op, node.arguments, tuple(one.requires_grad for one in node.creators))
    if node.plan is not None:
        node.plan.reads = found
    return found


def reads_of_call(op: Op, arguments: Sequence[Any], wanted: tuple[bool, ...]) -> Reads:
    """Return the values that the rules for the wanted creators read."""
    if op.elementwise:
        try:
            return _reads_of_kinds(op, wanted, tuple(map(_kind, arguments)))
        except TypeError:  # an argument without a hash
            pass
    return Reads(True, frozenset(range(len(wanted))))


class _Tensor(NamedTuple):
    """The dtype and shape of a tensor, which are known without its values."""

    dtype: np.dtype
    shape: tuple[int, ...]


def _kind(arg: Any) -> Any:
    return _Tensor(arg.dtype, arg.shape) if isinstance(arg, Node) else (type(arg), arg)


@lru_cache(maxsize=1000)
def _reads_of_kinds(op: Op, wanted: tuple[bool, ...], kinds: tuple[Any, ...]) -> Reads:
    """Find out by running the rules with a stand-in for one value at a time."""
    places = [place for place, kind in enumerate(kinds) if isinstance(kind, _Tensor)]
    values = [_small_array(kind) if isinstance(kind, _Tensor) else kind[1] for kind in kinds]

    def fails(output: Any, given: list[Any]) -> bool:
        try:
            for place, is_wanted in zip(places, wanted, strict=True):
                if is_wanted and given[place].dtype.kind == "f":
                    cotangent_of(op, place, np.ones(output.shape, output.dtype), output, given)
        except Exception:  # a rule that fails for any reason may read the value
            return True
        return False

    with no_grad(), quiet():
        result = op.compute(values)
        read = []
        for number, place in enumerate(places):
            given = [released(value.shape, value.dtype) if i == place else value for i, value in enumerate(values)]
            if fails(result, given):
                read.append(number)
        return Reads(fails(released(result.shape, result.dtype), values), frozenset(read))


def _small_array(tensor: _Tensor) -> np.ndarray:
    return np.ones([min(size, 2) for size in tensor.shape], tensor.dtype)
