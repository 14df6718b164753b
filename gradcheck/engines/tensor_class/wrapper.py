"""One tensor of somebody's library, with what the language and a `DefineByRun` ask of any tensor."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np

from gradcheck.autograd.op import Op
from gradcheck.autograd.operators import Operators
from gradcheck.engines.recording import convert


class Owner(Protocol):
    """What a wrapped tensor asks of its engine."""

    @abstractmethod
    def apply(self, op: Op, bound: tuple[Any, ...]) -> Any:
        """An op on all its arguments in order: a wrapped tensor, or a tuple of them. Raises GradcheckError."""

    @abstractmethod
    def gradient(self, tensor: WrappedTensor) -> np.ndarray | None:
        """A copy of the gradient that has arrived, of the tensor's shape; None where none has."""

    @abstractmethod
    def set_gradient(self, tensor: WrappedTensor, gradient: np.ndarray | None) -> None:
        """Forget the gradient (None), or carry one over. Raises Unsupported where the library cannot."""

    @abstractmethod
    def retain(self, tensor: WrappedTensor) -> None:
        """Make sure that the gradient of a tensor that is no leaf can be read after a backward pass."""


class WrappedTensor(Operators):
    """A value on its way through somebody's library.

    tensor         the library's own object; None where NumPy alone knows the value (an index, a mask, a creator)
    array          its values when it was made: a copy, so that nobody changes them
    requires_grad  whether a gradient must flow through it, by gradcheck's own reckoning
    initial        what the library has for its gradient before any has arrived: None, 0, zeros
    probe          a leaf of zeros added to it, whose gradient is its own, where the library keeps none
    """

    __slots__ = ("array", "initial", "owner", "probe", "requires_grad", "tensor")

    def __init__(
        self, owner: Owner, tensor: Any, array: np.ndarray, requires_grad: bool = False, initial: Any = None
    ) -> None:
        self.owner, self.tensor, self.array = owner, tensor, array
        self.requires_grad, self.initial = requires_grad, initial
        self.probe: WrappedTensor | None = None

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

    def __repr__(self) -> str:
        return f"WrappedTensor({self.array!r})"

    @property
    def grad(self) -> np.ndarray | None:
        """The gradient that has arrived."""
        return self.owner.gradient(self)

    @grad.setter
    def grad(self, gradient: np.ndarray | None) -> None:
        self.owner.set_gradient(self, gradient)

    def retain_grad(self) -> None:
        """Make sure that the gradient can be read after a backward pass."""
        self.owner.retain(self)

    @classmethod
    def __apply_op__(cls, op: Op, args: tuple[Any, ...]) -> Any:
        return next(tensors_in(args)).owner.apply(op, args)


def tensors_in(values: Sequence[Any]) -> Iterator[WrappedTensor]:
    """Every wrapped tensor among arguments, also those in lists."""
    for value in values:
        if type(value) is WrappedTensor:
            yield value
        elif isinstance(value, (list, tuple)):
            yield from tensors_in(value)


def plain(value: Any) -> Any:
    """An argument with arrays in place of wrapped tensors, also of those in lists."""
    return convert(value, WrappedTensor, lambda tensor: tensor.array)


def compute(op: Op, bound: tuple[Any, ...]) -> Any:
    """What the op table makes of the arguments' arrays: an array, or a tuple of them. Raises TensorError."""
    values = [plain(value) for value in bound]
    return op.forward(*values) if op.composite else op.compute(values)
