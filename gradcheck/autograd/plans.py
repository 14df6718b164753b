"""Plans: what an op comes to for arguments of one kind, prepared once and then run as a straight line of NumPy calls.

The definition is the general way: `Op.__call__` forward, `pull_arrays` backward. A graph that applies the same op to
small arrays of the same shapes many times pays mostly for asking: what the arguments are called, who handles them, what
their dtypes come to, which ops a rule calls with which arguments. A plan has asked all this before. Its forward is the
op's own, its gradients are the op's own rules, written down as they went (`tracing`); so both ways give the same bits,
and whatever a plan does not know, errors included, it leaves to the general way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from types import EllipsisType, NoneType
from typing import Any

import numpy as np

from gradcheck.autograd.modes import default_dtype, quiet
from gradcheck.autograd.node import Node
from gradcheck.autograd.op import Op
from gradcheck.autograd.pullback import pull_arrays

#: After so many calls of one kind it is worth its preparation.
WORTH_IT = 16
#: Where an op is called in more ways than this, it is no loop that calls it: what is known of them is forgotten.
MOST_KINDS = 1000
#: More elements take so long that asking takes no time.
MOST_ELEMENTS = 1 << 14
_FLOAT64 = np.dtype(np.float64)
_PLAIN = frozenset((int, bool, str, NoneType, EllipsisType))


class Plan:
    """How nodes made by one op are pulled back.

    bound   the op's arguments, with None for each node
    places  where each of its nodes stands: the argument, and the place in it if that is a sequence
    """

    __slots__ = ("_bound", "_places", "pull")

    def __init__(self, bound: tuple[Any, ...], places: list[tuple[int, int | None]]) -> None:
        self._bound, self._places = bound, places
        self.pull: Callable[[Node, np.ndarray], Any] = self._first_pull

    def arguments(self, node: Node) -> tuple[Any, ...]:
        """What the op was applied to."""
        found = list(self._bound)
        for (position, index), tensor in zip(self._places, tensors_of(node), strict=True):
            if index is None:
                found[position] = tensor
            else:
                found[position] = [*found[position][:index], tensor, *found[position][index + 1 :]]
        return tuple(found)

    def _first_pull(self, node: Node, gradient: np.ndarray) -> Any:
        """Write down what the rules do, once the first gradient is here."""
        from gradcheck.autograd.generated import pulled  # few processes call any op so often

        try:
            self.pull = pulled(node, gradient, tensors_of(node))
        except Exception:  # whatever it is, the general way has words for it
            self.pull = pull_arrays
        return pull_arrays(node, gradient)


def tensors_of(node: Any) -> tuple[Any, ...]:
    """The nodes that a node with a plan was made of."""
    if type(node.first) is tuple:
        return node.first
    return (node.first,) if node.second is None else (node.first, node.second)


def short_way(kind: type[Node]) -> Callable[[Op, tuple[Any, ...], dict[str, Any]], Any]:
    """`op(*args, **kwargs)` on tensors of this kind: by its plan, or the general way."""
    #: By the types of arguments whether these are a tensor and what is told by its value.
    leading: dict[tuple[type, ...], bool] = {}

    def planned(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        tensors: Any = args
        if len(args) == 1 and not kwargs and type(args[0]) is kind:
            data = args[0].data
            key: Any = (data.shape, data.dtype.char)
        else:
            types = tuple(map(type, (*args, *kwargs.values()))) if kwargs else tuple(map(type, args))
            leads = leading.get(types)
            if leads is None:
                leads = leading[types] = types[0] is kind and args != () and _PLAIN.issuperset(types[1:])
            if leads:
                data = args[0].data
                tensors = args[:1]
                key = (types, data.shape, data.dtype.char, args[1:], *kwargs.items())
            else:
                told = _all_told(kind, args, kwargs)
                if told is None:
                    return op.general(args, kwargs)
                key, tensors = told
        found = op.plans.get(key)
        if found is None:
            _count(kind, op, (args, kwargs), key)
        elif default_dtype() is _FLOAT64:
            try:
                return found(*tensors)
            except Exception:  # the general way has words for it
                pass
        return op.general(args, kwargs)

    return planned


def _all_told(
    kind: type[Node], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], list[Any]] | None:
    """What a plan must know of all arguments, and the tensors among them; None where it cannot know it."""
    key: list[Any] = []
    tensors: list[Any] = []
    for arg in args:
        if not _told(arg, kind, key, tensors):
            return None
    if kwargs:
        key += kwargs
        named: list[Any] = []
        if not all(_told(arg, kind, key, named) for arg in kwargs.values()) or named:
            return None
    return tuple(key), tensors


def _told(arg: Any, kind: type[Node], key: list[Any], tensors: list[Any]) -> bool:
    """Add to the key what a plan must know of an argument; whether it can know all."""
    given = type(arg)
    if given is kind:
        data = arg.data
        key += (data.shape, data.dtype.char)
        tensors.append(arg)
    elif given in _PLAIN:
        key += (given, arg)
    elif given is float:
        key += (given, arg or str(arg))  # 0.0 equals -0.0
        return bool(arg == arg)
    elif given is tuple or given is list:
        key += (given, len(arg))
        return all(_told(item, kind, key, tensors) for item in arg)
    elif given is slice:
        key.append(given)
        return all(_told(part, kind, key, tensors) for part in (arg.start, arg.stop, arg.step))
    elif isinstance(arg, np.dtype):
        key += (np.dtype, arg.char)
    else:
        return False
    return True


def _count(kind: type[Node], op: Op, call: tuple[tuple[Any, ...], dict[str, Any]], key: tuple[Any, ...]) -> None:
    """Count the call, and prepare a plan where there are many like it."""
    calls = op.calls
    if len(calls) > MOST_KINDS:
        calls.clear()
        op.plans.clear()
    calls[key] = count = calls.get(key, 0) + 1
    if count == WORTH_IT:
        args, kwargs = call
        plan = prepared(kind, op, op.bind(args, kwargs))
        if plan is not None:
            op.plans[key] = plan


def prepared(kind: type[Node], op: Op, bound: tuple[Any, ...]) -> Callable[..., Any] | None:
    """A function of the nodes among an op's arguments, in their order, that gives its result; None where it cannot be
    prepared: one that stands within an index is no creator."""
    from gradcheck.autograd.generated import applied, composed
    from gradcheck.autograd.tracing import DTYPES, nodes_in

    if any(parameter.name == "generator" for parameter in op.parameters):
        return None
    places, leaves = list(places_of(op, bound)), nodes_in(bound)
    if len(places) < len(leaves) and not op.composite:
        return None
    arrays = [leaf.data for leaf in leaves]
    if not leaves or any(type(array) is not np.ndarray or array.dtype.char not in DTYPES for array in arrays):
        return None
    if sum(array.size for array in arrays) > MOST_ELEMENTS:
        return None
    try:
        with quiet():
            if op.composite:
                return composed(op, bound, (kind, leaves), partial(prepared, kind))
            return applied(kind, op, bound, Plan(tuple(map(_without_nodes, bound)), places))
    except Exception:  # whatever it is, the general way has words for it
        return None


def places_of(op: Op, bound: tuple[Any, ...]) -> Iterator[tuple[int, int | None]]:
    """Where the nodes among an op's arguments stand: the argument, and the place in it if that is a sequence."""
    for position, arg in enumerate(bound):
        if hasattr(arg, "requires_grad"):
            yield position, None
        elif position == op.sequence:
            yield from ((position, index) for index, item in enumerate(arg) if hasattr(item, "requires_grad"))


def _without_nodes(arg: Any) -> Any:
    if isinstance(arg, (list, tuple)):
        return type(arg)(map(_without_nodes, arg))
    return None if hasattr(arg, "requires_grad") else arg
