"""Release large values that nobody can read again: of `h * w + x` no rule reads `h * w`, and no name refers to it.

A graph holds its nodes, and these hold their values. torch keeps what rules will read, and frees everything else with
its handle. Here the handle is the node itself, so references are counted: a node to which only other nodes of the graph
refer has no name. Where a large result is made, some nodes behind it are looked at, as many as cost little beside it.
Whoever comes to a released value through the graph has it computed again (`CompiledNode.data`).
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
#: At least so many nodes are looked at, one more for so many elements of the result, and at most so many.
_LEAST, _ELEMENTS, _MOST = 3, 1 << 16, 64
#: How many references there are to an object; where Python does not count them, no number that means anything.
reference_count: Callable[[object], int] = getattr(sys, "getrefcount", lambda _: -1)


class ReleasedRead(Exception):
    """Raised on reading a released value, which can be computed again."""


class ReleasedArray(np.ndarray):
    """The shape and dtype of a released value. Computing with it raises ReleasedRead."""

    def _raise(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise ReleasedRead

    __array_ufunc__ = __array_function__ = _raise


def released(shape: tuple[int, ...], dtype: np.dtype | None) -> ReleasedArray:
    """Return a stand-in of this shape and dtype; it takes no memory."""
    return np.ndarray.view(np.broadcast_to(np.full((), np.nan, dtype), shape), ReleasedArray)


def release_dead_values(made_of: Iterable[Any], size: int) -> None:
    """Release the values behind these arguments, of which something of that size is made, that nobody can read."""
    held = _held(made_of, min(_MOST, _LEAST + size // _ELEMENTS))
    found = list(held)
    for place, count in enumerate(_references_from_outside(found, held)):
        if count == _NONE_FROM_OUTSIDE:
            found[place].array = found[place].form.released()


def _held(made_of: Iterable[Any], most: int) -> dict[Any, int]:
    """Return the nodes whose values may be released, and how often the nodes that were looked at refer to them."""
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
    return {node: count for node, count in held.items() if node not in kept and _may_go(node)}


def _may_go(node: Any) -> bool:
    """Whether a value is large, an array of its own, can be computed again, and is not read by its node's rules."""
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
    """Return how many references there are to each node, beside those that were counted."""
    return [reference_count(node) - held[node] for node in found]


def _of_no_name() -> int:
    found = [object()]
    return _references_from_outside(found, {found[0]: 0})[0]


#: The count for an object to which only this search refers; versions of Python differ in it.
_NONE_FROM_OUTSIDE = max(_of_no_name(), 0)


# Gradients that are overwritten ------------------------------------------------------------------------


def overwritable(gradient: np.ndarray, *operands: np.ndarray) -> np.ndarray | None:
    """Return the gradient that the sweep has handed to a plan, if the plan may write its result there; or None.

    It may if only the sweep holds the gradient, and if the gradient and the operands all lie row by row, as the result
    will. Of large arrays this saves a third of the traffic through memory.
    """
    if reference_count(gradient) != _HELD_BY_SWEEP or gradient.base is not None or not gradient.flags.c_contiguous:
        return None
    alike = all(one.shape == gradient.shape and one.flags.c_contiguous for one in operands)
    return gradient if alike and gradient.flags.writeable else None


def _sweep() -> int:
    gradient = np.zeros(1)
    return _plan(gradient)


def _plan(gradient: np.ndarray) -> int:
    return _question(gradient, gradient[:0])


def _question(gradient: np.ndarray, *operands: np.ndarray) -> int:
    return reference_count(gradient)


#: What `overwritable` counts for a gradient that only the sweep holds: counted once, along the same kinds of calls.
_HELD_BY_SWEEP = max(_sweep(), 0)


# What rules read ---------------------------------------------------------------------------------------


class Reads(NamedTuple):
    """What the rules of one call read: whether its result, and the places of those among its creators."""

    result: bool
    creators: frozenset[int]


def _reads(node: Any) -> Reads:
    """Return what the rules that will run read."""
    if node.plan is not None and node.plan.reads is not None:
        return node.plan.reads  # type: ignore[no-any-return]
    found = reads_of_call(node.creation_op, node.arguments, tuple(one.requires_grad for one in node.creators))
    if node.plan is not None:
        node.plan.reads = found
    return found


def reads_of_call(op: Op, arguments: Sequence[Any], wanted: tuple[bool, ...]) -> Reads:
    """Return what the rules read of a call of which these creators require a gradient."""
    if op.elementwise:
        try:
            return _reads_of_kinds(op, wanted, tuple(map(_kind, arguments)))
        except TypeError:  # an argument without a hash
            pass
    return Reads(True, frozenset(range(len(wanted))))


class _Tensor(NamedTuple):
    """What rules may look at in a tensor without reading it."""

    dtype: np.dtype
    shape: tuple[int, ...]


def _kind(arg: Any) -> Any:
    return _Tensor(arg.dtype, arg.shape) if isinstance(arg, Node) else (type(arg), arg)


@lru_cache(maxsize=1000)
def _reads_of_kinds(op: Op, wanted: tuple[bool, ...], kinds: tuple[Any, ...]) -> Reads:
    """Try: run the rules on few elements, with a stand-in for one value after the other."""
    places = [place for place, kind in enumerate(kinds) if isinstance(kind, _Tensor)]
    values = [_few(kind) if isinstance(kind, _Tensor) else kind[1] for kind in kinds]

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


def _few(tensor: _Tensor) -> np.ndarray:
    return np.ones([min(size, 2) for size in tensor.shape], tensor.dtype)
