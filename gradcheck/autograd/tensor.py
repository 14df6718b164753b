"""Tensor, an array with automatic differentiation."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcheck.autograd import accelerator, dtypes
from gradcheck.autograd.backward import backward
from gradcheck.autograd.modes import default_dtype, is_recording
from gradcheck.autograd.node import nodes, plain
from gradcheck.autograd.op import Op
from gradcheck.errors import DtypeMismatch


@accelerator.accelerate
class Tensor(accelerator.TensorNode):
    """An n-dimensional array with automatic differentiation.

    data           the values, an `ndarray`
    requires_grad  whether gradients flow to it
    grad           after `backward()`, the accumulated gradient of a leaf, or of a tensor after
                   `retain_grad()`: a Tensor of the same shape and dtype; None before
    creators       the tensors it was made from; empty for a leaf
    creation_op    the op that made it; None for a leaf
    """

    __slots__ = ()

    def __init__(self, data: Any, requires_grad: bool = False, dtype: Any = None) -> None:
        """Make a leaf with a copy of numbers, nested lists, or a tensor.

        Python floats get the default dtype unless `dtype` is given. Raises DtypeMismatch for other objects than
        numbers, and for integers that are to require a gradient.
        """
        if isinstance(data, Tensor):
            data = data.data
        array = np.array(data, dtype=dtypes.BY_NAME.get(dtype, dtype) if isinstance(dtype, str) else dtype)
        if dtype is None and array.dtype == np.float64 and not isinstance(data, (np.ndarray, np.generic)):
            array = array.astype(default_dtype(), copy=False)
        if array.dtype.kind not in "biufcV":
            raise DtypeMismatch(f"a tensor holds numbers, not {array.dtype}")
        super().__init__(array)
        self.requires_grad_(requires_grad)

    # Values --------------------------------------------------------------------------------------

    def dim(self) -> int:
        return self.data.ndim

    def numel(self) -> int:
        return self.data.size

    def size(self, dim: int | None = None) -> Any:
        return self.shape if dim is None else self.shape[dim]

    def numpy(self) -> np.ndarray:
        return self.data

    def item(self) -> Any:
        return self.data.item()

    def tolist(self) -> Any:
        return self.data.tolist()

    def __float__(self) -> float:
        return float(self.data.item())

    def __int__(self) -> int:
        return int(self.data.item())

    def __bool__(self) -> bool:
        return bool(self.data.item())

    def __repr__(self) -> str:
        body = np.array2string(self.data, separator=", ", prefix="Tensor(")
        made = f", creation_op={self.creation_op.name}" if self.creation_op else ""
        flag = ", requires_grad=True" if self.requires_grad and not made else ""
        return f"Tensor({body}, dtype={self.dtype}{made}{flag})"

    # Gradients -----------------------------------------------------------------------------------

    def backward(self, gradient: Any = None, retain_graph: bool = False, create_graph: bool = False) -> None:
        """Add the gradient of this tensor to the `grad` of all leaves below it.

        `gradient` is the incoming one, of this tensor's shape, 1 by default for one element. `retain_graph` keeps the
        graph's saved values; `create_graph` makes the gradients differentiable. Raises NonScalarBackward,
        NoGradRequired, BackwardTwice, ShapeMismatch.
        """
        backward([self], [gradient], retain_graph=retain_graph or create_graph, create_graph=create_graph)

    def retain_grad(self) -> None:
        """Keep this tensor's own gradient, although it is not a leaf."""
        self.retains_grad = True

    def zero_grad(self) -> None:
        """Drop the accumulated gradient."""
        self.grad = None

    def detach(self) -> Tensor:
        """Return the same values without a graph."""
        return self.wrap(self.data)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Set `requires_grad`; return the tensor. Raises DtypeMismatch."""
        if requires_grad and not dtypes.is_differentiable(self.dtype):
            raise DtypeMismatch(f"only floating and complex tensors can require gradients, not {self.dtype}")
        self.requires_grad = requires_grad
        return self

    @classmethod
    def __apply_op__(cls, op: Op, args: tuple[Any, ...]) -> Any:
        """Compute `op` on values, and link the result to its creators."""
        data = op.compute(plain(op, args))
        if type(data) is tuple:
            return tuple(map(cls.wrap, data))
        flows = op.rules and any(node.requires_grad for node in nodes(op, args))
        if flows and dtypes.is_differentiable(data.dtype) and is_recording():
            return cls.record(data, op, args)
        return cls.wrap(data)
