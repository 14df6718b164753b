"""Node: an array with its op and arguments, over which sweeps run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from operator import attrgetter
from typing import Any, Self, TypeVar

import numpy as np

from gradcheck.autograd.op import Op
from gradcheck.autograd.operators import Operators

N = TypeVar("N", bound="Node")
T = TypeVar("T")


def array_attributes(slot: str, names: tuple[str, ...] = ("shape", "dtype", "ndim")) -> Callable[[type[T]], type[T]]:
    """Add attributes that read an array in a slot, in C and so quickly."""

    def add(kind: type[T]) -> type[T]:
        for name in names:
            setattr(kind, name, property(attrgetter(f"{slot}.{name}")))
        return kind

    return add


@array_attributes("data")
class Node(Operators):
    """A value in a graph: the base of `Tensor` and of symbolic formulas.

    data           the values, an `ndarray`
    grad           the sum of the gradients of all backward passes so far, a node of the same shape and dtype; or None
    requires_grad  whether gradients flow to it
    creation_op    the op that made it; None for a leaf
    arguments      the arguments of that op, in the order of its signature; empty for a leaf
    freed          whether a backward pass has freed what the node saved for it
    retains_grad   whether backward passes leave a gradient here too, although it is no leaf
    """

    __slots__ = (
        *("data", "grad", "requires_grad", "creation_op", "arguments", "freed", "retains_grad"),
        "__weakref__",
    )

    shape: tuple[int, ...]
    dtype: np.dtype
    ndim: int
    data: np.ndarray
    grad: Self | None
    requires_grad: bool
    creation_op: Op | None
    arguments: tuple[Any, ...]
    freed: bool
    retains_grad: bool

    def __init__(self, data: np.ndarray, requires_grad: bool = False) -> None:
        self.creation_op, self.arguments = None, ()
        self.data = data
        self.grad = None
        self.requires_grad = requires_grad
        self.freed = self.retains_grad = False

    @classmethod
    def wrap(cls, data: np.ndarray) -> Self:
        """Return a leaf that requires no gradient and shares `data`."""
        node = object.__new__(cls)
        Node.__init__(node, data)
        return node

    @classmethod
    def record(cls, data: np.ndarray, op: Op, arguments: tuple[Any, ...]) -> Self:
        """Return an op's result, which requires a gradient and has creators."""
        node = object.__new__(cls)
        Node.__init__(node, data, requires_grad=True)
        node.creation_op, node.arguments = op, arguments
        return node

    def __len__(self) -> int:
        return len(self.data)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.data, dtype=dtype, copy=copy)

    @property
    def creators(self) -> tuple[Self, ...]:
        """Return the nodes that it was made from, one for each use."""
        return tuple(nodes(self.creation_op, self.arguments))

    @property
    def is_leaf(self) -> bool:
        return self.creation_op is None


def walk(roots: Iterable[N]) -> Iterator[N]:
    """Yield the roots and all nodes below them, each once; iterative."""
    stack = list(dict.fromkeys(roots))
    seen = set(stack)
    while stack:
        node = stack.pop()
        yield node
        fresh = [creator for creator in dict.fromkeys(node.creators) if creator not in seen]
        seen.update(fresh)
        stack += fresh


def nodes(op: Op | None, args: tuple[Any, ...]) -> list[Any]:
    """Return the nodes among an op's arguments, those in a sequence last."""
    found = [arg for arg in args if isinstance(arg, Node)]
    if op is not None and op.sequence is not None:
        found += [item for item in args[op.sequence] if isinstance(item, Node)]
    return found


def plain(op: Op, args: tuple[Any, ...]) -> list[Any]:
    """Return the arguments of an op with arrays for nodes."""
    values = [arg.data if isinstance(arg, Node) else arg for arg in args]
    if op.sequence is not None:
        values[op.sequence] = [item.data if isinstance(item, Node) else item for item in args[op.sequence]]
    return values
