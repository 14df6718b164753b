"""CompiledNode: a node with form and plan, whose value may be released."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Self

import numpy as np

from gradcheck.autograd.compiled.buffer_release import LARGE, ReleasedArray, release_dead_values, released
from gradcheck.autograd.node import Node, array_attributes, plain
from gradcheck.autograd.op import Op

#: The dtypes of arrays that have a fast path: two floats, booleans and integers.
DTYPES = {np.dtype(char): np.dtype(char) for char in "fd?l"}
_new = object.__new__


class ArrayForm:
    """A shape and a dtype; shared by arrays, so compared by identity."""

    __slots__ = ("_released", "dtype", "shape")

    def __init__(self, shape: tuple[int, ...] = (), dtype: np.dtype | None = None) -> None:
        self.shape, self.dtype = shape, dtype
        self._released: ReleasedArray | None = None

    def released(self) -> ReleasedArray:
        """Return the stand-in for a released value."""
        if self._released is None:
            self._released = released(self.shape, self.dtype)
        return self._released


#: The form of all arrays of other classes or dtypes, which have no fast path.
UNKNOWN_FORM = ArrayForm()
#: A dropped form is made anew, and functions for it are compiled again.
_form = lru_cache(maxsize=10_000)(ArrayForm)


def form_of(array: np.ndarray) -> ArrayForm:
    """Return the form of an array."""
    dtype = DTYPES.get(array.dtype)
    return UNKNOWN_FORM if dtype is None or type(array) is not np.ndarray else _form(array.shape, dtype)


@array_attributes("array")
class CompiledNode(Node):
    """A node with a form and a plan.

    array  the slot in which the core keeps `data`; after the value was released, a `ReleasedArray`
    form   the form of the array; None until it is needed
    plan   the node's way back in the compiled sweep (`Plan`); None for the op's rules
    """

    __slots__ = ("form", "plan")

    form: ArrayForm | None
    plan: Any
    array = Node.data

    def __init__(self, data: np.ndarray, requires_grad: bool = False) -> None:
        self.plan = None
        super().__init__(data, requires_grad)

    @classmethod
    def wrap(cls, data: np.ndarray) -> Self:
        node = _new(cls)
        node.array = data
        node.arguments = ()
        node.creation_op = node.form = node.grad = node.plan = None
        node.requires_grad = node.freed = node.retains_grad = False
        return node

    @classmethod
    def record(cls, data: np.ndarray, op: Op, arguments: tuple[Any, ...]) -> Self:
        if op.elementwise and data.size >= LARGE:
            release_dead_values(arguments, data.size)
        node = _new(cls)
        node.array, node.creation_op, node.arguments = data, op, arguments
        node.form = node.grad = node.plan = None
        node.requires_grad = True
        node.freed = node.retains_grad = False
        return node

    @property
    def data(self) -> np.ndarray:
        return self.array if type(self.array) is not ReleasedArray else recompute(self)

    @data.setter
    def data(self, data: np.ndarray) -> None:
        is_made = self.creation_op is not None and type(data) is np.ndarray
        self.array = data[...] if is_made else data  # a view is never released: computing would not give it again
        self.form = None

    def find_form(self) -> ArrayForm:
        """Return the form of the array, and keep it."""
        self.form = form_of(self.array)
        return self.form


def recompute(node: CompiledNode) -> np.ndarray:
    """Compute a released value again, and keep it; iterative."""
    waiting: list[Any] = [node]
    while waiting:
        last = waiting[-1]
        if type(last.array) is ReleasedArray:
            missing = [creator for creator in last.creators if type(creator.array) is ReleasedArray]
            waiting += missing
            if missing:
                continue
            last.array = last.creation_op.compute(plain(last.creation_op, last.arguments))
        waiting.pop()
    return node.array
