"""Values that are let go: of `h * w + x` no rule reads what `h * w` was, and nobody can name it.

A graph holds its nodes, and these their values. torch keeps what rules will read, and frees all else with its handle.
Here the handle is the node, so that references are counted: a node to which only other nodes of the graph refer has no
name. Before a large result is made the nodes behind it are looked at, as many as cost little beside it. Whoever comes
to such a node all the same, by way of the graph, finds its value computed again (`Node.data`).
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from gradcheck.autograd.compiled.released_value import Absent, absent
from gradcheck.autograd.modes import no_grad, quiet
from gradcheck.autograd.node import Node, nodes
from gradcheck.autograd.op import Op
from gradcheck.autograd.pullback import cotangent_of

#: Smaller values are kept.
LARGE = 1 << 16
#: So many nodes are looked at, one more for so many elements of the result, and no more than so many.
_LEAST, _ELEMENTS, _MOST = 3, 1 << 16, 64
#: How many refer to an object; where that is not counted, no number that means anything.
references = getattr(sys, "getrefcount", lambda _: -1)
#: By what is known of a call: whether a rule reads the result, and which of the op's nodes rules read.
_READ: dict[Any, tuple[bool, frozenset[int]]] = {}
_MOST_CALLS = 1000


def let_go(made_of: Iterable[Any], size: int) -> None:
    """Free the values behind these nodes, of which something of that size is made now, that nobody needs."""
    held = _held(made_of, min(_MOST, _LEAST + size // _ELEMENTS))
    found = list(held)
    for place, count in enumerate(_unheld(found, held)):
        if count == _OURS:
            found[place].array = found[place].form.absent()


def _held(made_of: Iterable[Any], most: int) -> dict[Any, int]:
    """The nodes that may go, and how often those that are looked at refer to them."""
    starts = dict.fromkeys([node for node in made_of if isinstance(node, Node) and node.creation_op is not None])
    seen = list(starts)
    kept = set()
    held: dict[Any, int] = {}
    for node in seen:  # which grows
        _, places = _read(node)
        for place, creator in enumerate(_creators(node)):
            if creator.creation_op is None:
                continue
            if creator not in held:
                held[creator] = 0
                if creator not in starts:
                    seen.append(creator)
            held[creator] += 1
            if place in places:
                kept.add(creator)
        if type(node.second) is tuple and node.first in held:  # which are all of them, and the wanted one
            held[node.first] += 1
        if len(seen) > most:
            break
    return {node: count for node, count in held.items() if node not in kept and _may_go(node)}


def _creators(node: Any) -> Sequence[Any]:
    return nodes(node.creation_op, node.first) if node.plan is None else node.plan.tensors(node)


def _may_go(node: Any) -> bool:
    """Whether its value is large, its own, comes out the same again, and its own rules do not read it."""
    array = node.array
    return (
        type(array) is np.ndarray
        and array.size >= LARGE
        and array.base is None
        and node.creation_op.elementwise
        and not node.freed
        and not _read(node)[0]
        and (node.form or node.formed()).dtype is not None
    )


def _unheld(found: list[Any], held: dict[Any, int]) -> list[int]:
    """How many refer to each beside those that were counted."""
    return [references(node) - held[node] for node in found]


def _by_nobody() -> int:
    found = [object()]
    return _unheld(found, {found[0]: 0})[0]


#: What is counted of an object that only a search itself refers to.
_OURS = max(_by_nobody(), 0)


# Gradients that are written over -----------------------------------------------------------------------


def written_over(gradient: np.ndarray, *operands: np.ndarray) -> np.ndarray | None:
    """The gradient that a sweep has handed to a plan, to be written over by what comes of it and these operands, if the
    sweep alone holds it and all lie row by row, as the result will; or None. Of large arrays that saves a third of what
    goes through the memory."""
    if references(gradient) != _SWEEPS or gradient.base is not None or not gradient.flags.c_contiguous:
        return None
    alike = all(one.shape == gradient.shape and one.flags.c_contiguous for one in operands)
    return gradient if alike and gradient.flags.writeable else None


def _handed_to_a_plan(gradient: np.ndarray) -> int:
    return _asked_by_a_plan(gradient, gradient[:0])


def _asked_by_a_plan(gradient: np.ndarray, *operands: np.ndarray) -> int:
    return references(gradient)


def _of_a_sweep() -> int:
    gradient = np.zeros(1)
    return _handed_to_a_plan(gradient)


#: What is counted there of a gradient that only the sweep holds.
_SWEEPS = max(_of_a_sweep(), 0)


# What rules read ---------------------------------------------------------------------------------------


def _read(node: Any) -> tuple[bool, frozenset[int]]:
    """Whether the rules that will run read the node's value, and the places, among its creators, of those that they
    read."""
    plan = node.plan
    if plan is None:
        return _of_call(node.creation_op, node.first, [creator.requires_grad for creator in _creators(node)])
    if plan.read is None:
        wanted = [plan.wanted in (None, place) for place in range(len(plan.places))]
        plan.read = _of_call(node.creation_op, node.arguments, wanted)
    return plan.read  # type: ignore[no-any-return]


def _of_call(op: Op, arguments: Sequence[Any], wanted: list[bool]) -> tuple[bool, frozenset[int]]:
    """The same of a call of which some tensors require a gradient."""
    everything = (True, frozenset(range(len(wanted))))
    if not op.elementwise:
        return everything
    try:
        key = (op, *wanted, *map(_told, arguments))
        known = _READ.get(key)
    except TypeError:  # an argument without a hash
        return everything
    if known is None:
        if len(_READ) > _MOST_CALLS:
            _READ.clear()
        with no_grad(), quiet():
            known = _READ[key] = _tried(op, arguments, wanted)
    return known


def _told(arg: Any) -> Any:
    if isinstance(arg, Node):
        return arg.dtype, arg.shape
    return type(arg), arg


def _tried(op: Op, arguments: Sequence[Any], wanted: list[bool]) -> tuple[bool, frozenset[int]]:
    """Found by running them on few elements, without one value after the other."""
    places = [place for place, arg in enumerate(arguments) if isinstance(arg, Node)]
    values = [_few(arg.array) if isinstance(arg, Node) else arg for arg in arguments]
    result = _few(op.compute(values))

    def fails(output: Any, given: list[Any]) -> bool:
        try:
            for place, is_wanted in zip(places, wanted, strict=True):
                if is_wanted and given[place].dtype.kind == "f":
                    cotangent_of(op, place, np.ones_like(result), output, given)
        except Exception:  # whatever it is, nothing is known then
            return True
        return False

    read = []
    for number, place in enumerate(places):
        given = [_without(value) if i == place else value for i, value in enumerate(values)]
        if fails(result, given):
            read.append(number)
    return fails(_without(result), values), frozenset(read)


def _few(array: np.ndarray) -> np.ndarray:
    return np.ones([min(size, 2) for size in array.shape], array.dtype)


def _without(array: np.ndarray) -> Absent:
    return absent(array.shape, array.dtype)
