"""Node: an array that remembers what it was made from. Reverse sweeps run over nodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Self, TypeVar

import numpy as np

from gradcheck.autograd.compiled.released_value import Absent, absent
from gradcheck.autograd.op import Op
from gradcheck.autograd.operators import Operators

#: The dtypes that a plan knows: two floats, booleans and integers.
DTYPES = {np.dtype(char): np.dtype(char) for char in "fd?l"}
_new = object.__new__
N = TypeVar("N", bound="Node")


#: So many forms are known at a time.
_MOST = 10_000
_FORMS: dict[tuple[tuple[int, ...], np.dtype], Form] = {}


class Form:
    """A shape and a dtype: one object for all plain arrays that have them, which tells these by itself."""

    __slots__ = ("_absent", "dtype", "shape")

    def __init__(self, shape: tuple[int, ...] = (), dtype: np.dtype | None = None) -> None:
        self.shape, self.dtype = shape, dtype
        self._absent: Absent | None = None

    def absent(self) -> Absent:
        """What stands for a value that was let go."""
        if self._absent is None:
            self._absent = absent(self.shape, self.dtype)
        return self._absent


#: That of all arrays of other classes or dtypes: nothing is known of these.
OTHER = Form()


def form_of(array: np.ndarray) -> Form:
    """The form of an array."""
    dtype = DTYPES.get(array.dtype)
    if dtype is None or type(array) is not np.ndarray:
        return OTHER
    found = _FORMS.get((array.shape, dtype))
    if found is None:
        if len(_FORMS) > _MOST:
            _FORMS.clear()
        found = _FORMS[array.shape, dtype] = Form(array.shape, dtype)
    return found


class Node(Operators):
    """A value in a graph: what `Tensor` and the formulas of the case language have in common.

    data           the values, an `ndarray`; `array` is where they are kept, or what stands for them (`letting_go`)
    form           what is known of the array's shape and dtype, once somebody asked (`form_of`); None before
    grad           what backward passes have added up here, a node of the same shape and dtype; None before the first
    requires_grad  whether gradients flow to it
    creation_op    the op that made it; None for a leaf
    plan           what made it the short way (`fast`, `plans`); None where the general way did
    first, second  without a plan the arguments of that op, and None; with one what its kind of plan says. The fewer
                   containers a long graph is made of, the less there is to collect
    freed          whether a backward pass has freed what the node saved for it
    retains_grad   whether passes leave a gradient here too, although it is no leaf
    """

    __slots__ = (
        *("array", "form", "grad", "requires_grad", "creation_op", "plan", "first", "second", "freed", "retains_grad"),
        "__weakref__",
    )

    array: np.ndarray
    form: Form | None
    grad: Self | None
    requires_grad: bool
    creation_op: Op | None
    plan: Any
    first: Any
    second: Any
    freed: bool
    retains_grad: bool

    def __init__(self, data: np.ndarray, requires_grad: bool = False) -> None:
        self.array = data
        self.form = None
        self.grad = None
        self.requires_grad = requires_grad
        self.creation_op = self.plan = self.second = None
        self.first = ()
        self.freed = self.retains_grad = False

    def formed(self) -> Form:
        """Its form, from now on known."""
        self.form = form_of(self.array)
        return self.form

    @classmethod
    def wrap(cls, data: np.ndarray) -> Self:
        """A leaf that requires no gradient and shares `data`."""
        node = _new(cls)
        Node.__init__(node, data)
        return node

    @property
    def data(self) -> np.ndarray:
        return self.array if type(self.array) is not Absent else computed_again(self)

    @data.setter
    def data(self, data: np.ndarray) -> None:
        is_made = self.creation_op is not None and type(data) is np.ndarray
        self.array = data[...] if is_made else data  # a view is never let go: this would not come out again
        self.form = None

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    @property
    def dtype(self) -> np.dtype:
        return self.array.dtype

    @property
    def ndim(self) -> int:
        return self.array.ndim

    def __len__(self) -> int:
        return len(self.array)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.data, dtype=dtype, copy=copy)

    @property
    def arguments(self) -> tuple[Any, ...]:
        """What `creation_op` was applied to; empty for a leaf."""
        return self.first if self.plan is None else self.plan.arguments(self)  # type: ignore[no-any-return]

    @property
    def creators(self) -> tuple[Self, ...]:
        """The nodes that it was made from, one for each use; empty for a leaf."""
        return () if self.creation_op is None else tuple(nodes(self.creation_op, self.arguments))

    @property
    def is_leaf(self) -> bool:
        return self.creation_op is None


def recorded(kind: type[N], data: np.ndarray, op: Op, args: tuple[Any, ...]) -> N:
    """The node that `op` made of its arguments; it requires a gradient."""
    node = _new(kind)
    node.array = data
    node.form = node.grad = None
    node.requires_grad = True
    node.creation_op = op
    node.plan = node.second = None
    node.first = args
    node.freed = node.retains_grad = False
    return node


def computed_again(node: Node) -> np.ndarray:
    """The value of a node, which may have been let go; from now on it is kept. Iterative: no graph is too deep."""
    waiting = [node]
    while waiting:
        last = waiting[-1]
        if type(last.array) is Absent and last.creation_op is not None:
            missing = [creator for creator in last.creators if type(creator.array) is Absent]
            waiting += missing
            if missing:
                continue
            last.array = last.creation_op.compute(plain(last.creation_op, last.arguments))
        waiting.pop()
    return node.array


def walk(roots: Iterable[N]) -> Iterator[N]:
    """Every node that the roots were made of, themselves included, each once. Iterative: no graph is too deep."""
    stack = list(dict.fromkeys(roots))
    seen = set(stack)
    while stack:
        node = stack.pop()
        yield node
        fresh = [creator for creator in dict.fromkeys(node.creators) if creator not in seen]
        seen.update(fresh)
        stack += fresh


def nodes(op: Op | None, args: tuple[Any, ...]) -> list[Any]:
    """The nodes among the arguments of an op, those in its sequence after the others; none for a leaf, which has no
    arguments."""
    found = [arg for arg in args if isinstance(arg, Node)]
    if op is not None and op.sequence is not None:
        found += [item for item in args[op.sequence] if isinstance(item, Node)]
    return found


def plain(op: Op, args: tuple[Any, ...]) -> list[Any]:
    """The arguments of an op with arrays for nodes."""
    return plain_and_wanted(op, args)[0]


def plain_and_wanted(op: Op, args: tuple[Any, ...]) -> tuple[list[Any], bool]:
    """The same, and whether one of the nodes requires a gradient."""
    values, wanted = list(args), False
    for position, arg in enumerate(args):
        if isinstance(arg, Node):
            values[position] = arg.array if type(arg.array) is not Absent else computed_again(arg)
            wanted = wanted or arg.requires_grad
    if op.sequence is not None:
        items = args[op.sequence]
        values[op.sequence] = [item.data if isinstance(item, Node) else item for item in items]
        wanted = wanted or any(isinstance(item, Node) and item.requires_grad for item in items)
    return values, wanted


def flat(args: Sequence[Any]) -> list[Any]:
    """Arguments, and those in lists of them, in their order."""
    found: list[Any] = []
    for arg in args:
        found += flat(arg) if isinstance(arg, (list, tuple)) else [arg]
    return found


def nodes_in(args: Sequence[Any]) -> list[Any]:
    """The nodes among arguments and in lists of them, in their order."""
    return [arg for arg in flat(args) if hasattr(arg, "requires_grad")]
