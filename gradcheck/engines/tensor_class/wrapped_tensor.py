"""A value on its way through somebody's library, and what is asked of any such value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from gradcheck.autograd.node import array_attributes
from gradcheck.autograd.op import Op
from gradcheck.autograd.operators import Operators
from gradcheck.engines.recording import convert, flat
from gradcheck.engines.tensor_class.call_forms import CallForm, Shape


class Owner(Protocol):
    """The engine of a wrapped tensor, as far as its tensors ask it."""

    def apply(self, op: Op, bound: tuple[Any, ...]) -> Any: ...

    def gradient(self, tensor: WrappedTensor) -> np.ndarray | None: ...

    def set_gradient(self, tensor: WrappedTensor, gradient: np.ndarray | None) -> None: ...

    def retain(self, tensor: WrappedTensor) -> None: ...


@array_attributes("array")
class WrappedTensor(Operators):
    """A value on its way through somebody's library, with what the language and a `DefineByRun` ask of any tensor.

    tensor         the library's own object; None where NumPy alone knows the value (an index, a mask, a creator)
    array          its values when it was made: a copy, so that nobody changes them
    requires_grad  whether a gradient must flow through it, by gradcheck's own reckoning
    initial        what the library has for its gradient before any has arrived: None, 0, zeros
    is_leaf        whether it was made from an input or a constant, and from nothing else
    unread         whether the library has no gradient of its own for it: none at all, or one that another tensor shares
    """

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
        """What NumPy alone knows, to be read by definitions of ops. Raises TypeError for the library's own."""
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
        """Make sure that the gradient can be read after a backward pass."""
        self.engine.retain(self)

    @classmethod
    def __apply_op__(cls, op: Op, args: tuple[Any, ...]) -> Any:
        return next(tensors_in(args)).engine.apply(op, args)


def tensors_in(values: Sequence[Any]) -> Iterator[WrappedTensor]:
    """Every wrapped tensor among arguments, also those in lists."""
    return (value for value in flat(values) if type(value) is WrappedTensor)


def plain(value: Any) -> Any:
    """An argument with arrays in place of wrapped tensors, also of those in lists."""
    return convert(value, WrappedTensor, lambda tensor: tensor.array)


def compute(op: Op, bound: Sequence[Any]) -> Any:
    """What the op table makes of the arguments' arrays: an array, or a tuple of them. Raises TensorError."""
    values = [plain(value) for value in bound]
    return op.forward(*values) if op.composite else op.compute(values)


class LibraryCall(NamedTuple):
    """An op as a library was called for it; the result is None where it raised. `shape` is that of ops in `SHAPED`."""

    result: Any
    op: Op
    form: CallForm
    bound: tuple[Any, ...]
    shape: Shape
