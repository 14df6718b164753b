"""A library's tensor, wrapped with the interface that gradcheck needs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from gradcheck.autograd.node import array_attributes
from gradcheck.autograd.op import Op
from gradcheck.autograd.operators import Operators
from gradcheck.engines.recording import convert, flat
from gradcheck.engines.tensor_class.call_forms import CallForm, Shape


class Owner(ABC):
    """The engine of a wrapped tensor."""

    @abstractmethod
    def apply(self, op: Op, bound: tuple[Any, ...]) -> Any:
        """Apply an op to all its arguments in order. Raises GradcheckError."""

    @abstractmethod
    def gradient(self, tensor: WrappedTensor) -> np.ndarray | None:
        """Return a copy of the tensor's gradient; None if none has arrived."""

    @abstractmethod
    def set_gradient(self, tensor: WrappedTensor, gradient: np.ndarray | None) -> None:
        """Set the gradient, or clear it (None). Raises Unsupported."""

    @abstractmethod
    def retain(self, tensor: WrappedTensor) -> None:
        """Keep the gradient of a tensor that is no leaf after a pass."""


@array_attributes("array")
class WrappedTensor(Operators):
    """A library's tensor, for the language and `DefineByRun`.

    tensor         the library's own object; None for an index, a mask or a creator, which only NumPy knows
    array          a copy of its values when it was made
    requires_grad  whether a gradient must flow through it, by gradcheck's own rules
    initial        the library's gradient before any pass: None, 0, zeros
    is_leaf        whether it was made from an input or a constant
    unread         whether the library has no separate gradient for it: none, or a shared one"""

    shape: tuple[int, ...]
    dtype: np.dtype
    ndim: int
    __slots__ = ("array", "engine", "initial", "is_leaf", "requires_grad", "tensor", "unread")

    def __init__(
        self, engine: Owner, tensor: Any, array: np.ndarray, requires_grad: bool = False, initial: Any = None
    ) -> None:
        self.engine, self.tensor, self.array = engine, tensor, array
        self.requires_grad, self.initial = requires_grad, initial
        self.unread = False
        self.is_leaf = False

    def __len__(self) -> int:
        return len(self.array)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """Return the values for definitions of ops. Raises TypeError for a tensor."""
        if self.tensor is not None:
            raise TypeError("a tensor of a library is no array")
        found = np.array(self.array, dtype)
        found.flags.writeable = bool(copy)
        return found

    def __repr__(self) -> str:
        return f"WrappedTensor({self.array!r})"

    @property
    def grad(self) -> np.ndarray | None:
        return self.engine.gradient(self)

    @grad.setter
    def grad(self, gradient: np.ndarray | None) -> None:
        self.engine.set_gradient(self, gradient)

    def retain_grad(self) -> None:
        """Keep the gradient readable after a backward pass."""
        self.engine.retain(self)

    @classmethod
    def __apply_op__(cls, op: Op, args: tuple[Any, ...]) -> Any:
        return next(tensors_in(args)).engine.apply(op, args)


def tensors_in(values: Sequence[Any]) -> Iterator[WrappedTensor]:
    """Return every wrapped tensor among arguments, nested lists included."""
    return (value for value in flat(values) if type(value) is WrappedTensor)


def plain(value: Any) -> Any:
    """Return an argument with arrays in place of wrapped tensors."""
    return convert(value, WrappedTensor, lambda tensor: tensor.array)


def compute(op: Op, bound: Sequence[Any]) -> Any:
    """Return the op's result on the arguments' arrays. Raises TensorError."""
    values = [plain(value) for value in bound]
    return op.forward(*values) if op.composite else op.compute(values)


class LibraryCall(NamedTuple):
    """A call of an op in a library; the result is None if it raised."""

    result: Any
    op: Op
    form: CallForm
    bound: tuple[Any, ...]
    shape: Shape
