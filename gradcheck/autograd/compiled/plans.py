"""Plans: what an op comes to for arguments of one kind, prepared once and then run as a straight line of NumPy calls.

The definition is the general way: `Op.__call__` forward, `pull_arrays` backward. A graph that applies the same op to
arrays of the same shapes many times pays mostly for asking: what the arguments are called, who handles them, what
their dtypes come to, which ops a rule calls with which arguments. A plan has asked all this before. Its forward is the
op's own, its gradients are the op's own rules, written down as they went (`tracing`); so both ways give the same bits
(of arrays that lie row by row; how others lie may decide in which order they are added up), and whatever a plan does
not know, errors included, it leaves to the general way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from types import EllipsisType, NoneType
from typing import Any

import numpy as np

from gradcheck.autograd.modes import default_dtype, quiet
from gradcheck.autograd.node import DTYPES, Node, nodes_in
from gradcheck.autograd.op import Op
from gradcheck.autograd.pullback import pull_arrays

#: After so many calls of one kind it is worth its preparation.
WORTH_IT = 16
#: Where an op is called in more ways than this, it is no loop that calls it: what is known of them is forgotten.
MOST_KINDS = 1000
#: Of larger arrays only elementwise ops have plans: others may hold masks and places as large.
MOST_ELEMENTS = 1 << 14
#: What is made of more tensors costs more to prepare than it can save.
MOST_TENSORS = 32
_FLOAT64 = np.dtype(np.float64)
_PLAIN = frozenset((int, bool, str, NoneType, EllipsisType))


class Plan:
    """How nodes that one op has made of tensors of one kind are pulled back.

    wanted  the place of the only tensor that requires a gradient; None where several do, or may
    one     `one(node, gradient)`: the share of that one; None where there may be several
    pull    `pull(node, gradient)`: pairs of a tensor and its share
    read    what these read of the values, once somebody asked (`letting_go`)

    A node holds its tensors. `first` is the wanted one, and `second` the other, or all of them if they are more than
    two. Where several are wanted, they are the two, or `first` is all of them.
    """

    __slots__ = ("_bound", "_calls", "one", "places", "pull", "read", "wanted")

    def __init__(self, bound: tuple[Any, ...], places: list[tuple[int, int | None]], wanted: int | None) -> None:
        """`bound` are the op's arguments, with None for each node, `places` say where each of its nodes stands: the
        argument, and the place in it if that is a sequence."""
        self._bound, self.places, self.wanted, self._calls = bound, places, wanted, 0
        self.read: tuple[bool, frozenset[int]] | None = None
        self.one: Callable[[Node, np.ndarray], np.ndarray] | None = None if wanted is None else self._early_one
        self.pull: Callable[[Node, np.ndarray], Any] = self._early_pull if wanted is None else self._pull_one

    def tensors(self, node: Any) -> tuple[Any, ...]:
        """The nodes that a node was made of, in their order."""
        count, first, second = len(self.places), node.first, node.second
        if self.wanted is None:
            return (first, second) if count == 2 else first
        if count > 2:
            return second  # type: ignore[no-any-return]
        return (first,) if count == 1 else (second, first) if self.wanted else (first, second)

    def stands(self, node: Any) -> bool:
        """Whether the tensors that required a gradient when the node was made are those that do now."""
        if self.wanted is None:
            return True
        for tensor in node.second if type(node.second) is tuple else (node.first, node.second):
            if tensor is not None and tensor.requires_grad != (tensor is node.first):
                return False
        return bool(node.first.requires_grad)

    def arguments(self, node: Node) -> tuple[Any, ...]:
        """What the op was applied to."""
        found = list(self._bound)
        for (position, index), tensor in zip(self.places, self.tensors(node), strict=True):
            if index is None:
                found[position] = tensor
            else:
                found[position] = [*found[position][:index], tensor, *found[position][index + 1 :]]
        return tuple(found)

    def general(self, node: Node, gradient: np.ndarray) -> Any:
        """What `one` gives, or `pull` where several are wanted, the general way."""
        shares = pull_arrays(node, gradient)
        return shares if self.wanted is None else shares[0][1]

    def _early_one(self, node: Node, gradient: np.ndarray) -> Any:
        self._early(node, gradient)
        return self.general(node, gradient)

    def _early_pull(self, node: Node, gradient: np.ndarray) -> Any:
        self._early(node, gradient)
        return self.general(node, gradient)

    def _pull_one(self, node: Node, gradient: np.ndarray) -> Any:
        return ((node.first, self.one(node, gradient)),)  # type: ignore[misc]

    def _early(self, node: Node, gradient: np.ndarray) -> None:
        """Write down what the rules do, once it is worth it."""
        self._calls += 1
        if self._calls < self.worth_it():
            return
        from gradcheck.autograd.compiled.generated_code import pulled  # few processes call any op so often

        try:
            made = pulled(node, gradient, self)
        except Exception:  # whatever it is, the general way has words for it
            made = self.general
        if self.wanted is None:
            self.pull = made
        else:
            self.one = made

    def worth_it(self) -> int:
        """After how many gradients. Who has a plan has been called often."""
        return 1


def short_way(kind: type[Node]) -> Callable[[Op, tuple[Any, ...], dict[str, Any]], Any]:
    """`op(*args, **kwargs)` on tensors of this kind: by its plan, or the general way."""

    def planned(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        first = args[0] if args and not kwargs else None
        tensors: Any = args
        if type(first) is kind and len(args) == 1:
            key: Any = first.form or first.formed()
        elif type(first) is kind and len(args) == 2 and type(args[1]) in _PLAIN:
            key = (first.form or first.formed(), type(args[1]), args[1])
            tensors = (first,)
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
        given = type(arg)
        if given is kind:
            key.append(arg.form or arg.formed())
            tensors.append(arg)
        elif given in _PLAIN:
            key += (given, arg)
        elif not _told(arg, kind, key, tensors):
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
        key.append(arg.form or arg.formed())
        tensors.append(arg)
    elif given in _PLAIN:
        key += (given, arg)
    elif given is float:
        key += (given, arg or str(arg))  # 0.0 equals -0.0
        return bool(arg == arg)
    elif given is tuple or given is list:
        key += (given, len(arg))
        for item in arg:
            if type(item) is int:
                key += (int, item)
            elif not _told(item, kind, key, tensors):
                return False
    elif given is slice:
        parts = (arg.start, arg.stop, arg.step)
        key += (given, *parts, *map(type, parts))
        return _PLAIN.issuperset(map(type, parts))
    elif isinstance(arg, np.dtype):
        key += (np.dtype, arg.char)
    else:
        return False
    return True


def _count(kind: type[Node], op: Op, call: tuple[tuple[Any, ...], dict[str, Any]], key: Any) -> None:
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
    from gradcheck.autograd.compiled.generated_code import applied, composed

    if any(parameter.name == "generator" for parameter in op.parameters):
        return None
    places, leaves = list(places_of(op, bound)), nodes_in(bound)
    if len(leaves) > MOST_TENSORS or (len(places) < len(leaves) and not op.composite):
        return None
    arrays = [leaf.data for leaf in leaves]
    if not leaves or any(type(array) is not np.ndarray or array.dtype not in DTYPES for array in arrays):
        return None
    if not op.elementwise and sum(array.size for array in arrays) > MOST_ELEMENTS:
        return None
    try:
        with quiet():
            if op.composite:
                return composed(op, bound, (kind, leaves), partial(prepared, kind))
            return applied(kind, op, bound, partial(Plan, tuple(map(_without_nodes, bound)), places))
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
