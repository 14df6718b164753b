"""One tensor of somebody's engine, with what the language and a `Tape` ask of any tensor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcheck.autograd.op import Op
from gradcheck.autograd.operators import Operators

if TYPE_CHECKING:
    from gradcheck.engines.tensor_class.engine import Duck


class Held(Operators):
    """A value on its way through somebody's engine.

    tensor         the engine's own object; None where NumPy alone knows the value (an index, a mask, a creator)
    array          its values when it was made: a copy, so that nobody changes them
    requires_grad  whether a gradient must flow through it, by gradcheck's own reckoning
    initial        what the engine has for its gradient before any has arrived: None, 0, zeros
    probe          a leaf of zeros added to it, whose gradient is its own, where the engine keeps none
    """

    __slots__ = ("array", "engine", "initial", "probe", "requires_grad", "tensor")

    def __init__(
        self, engine: Duck, tensor: Any, array: np.ndarray, requires_grad: bool = False, initial: Any = None
    ) -> None:
        self.engine, self.tensor, self.array = engine, tensor, array
        self.requires_grad, self.initial = requires_grad, initial
        self.probe: Held | None = None

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
        return f"Held({self.array!r})"

    @property
    def grad(self) -> np.ndarray | None:
        """The gradient that has arrived."""
        return self.engine.gradient(self)

    @grad.setter
    def grad(self, gradient: Any) -> None:
        self.engine.set_gradient(self, gradient)

    def retain_grad(self) -> None:
        """Make sure that the gradient can be read after a backward pass."""
        self.engine.retain(self)

    @classmethod
    def __apply_op__(cls, op: Op, args: tuple[Any, ...]) -> Any:
        return next(tensors_in(args)).engine.apply(op, args)


def tensors_in(values: Sequence[Any]) -> Iterator[Held]:
    """Every held tensor among arguments, also those in lists."""
    for value in values:
        if type(value) is Held:
            yield value
        elif isinstance(value, (list, tuple)):
            yield from tensors_in(value)
