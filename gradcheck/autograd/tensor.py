"""Tensor: an array that takes part in automatic differentiation, as users hold it."""

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
    """An n-dimensional array of numbers that takes part in automatic differentiation.

    data           the values, an `ndarray`
    requires_grad  whether gradients flow to it
    grad           after `backward()`, the accumulated gradient of a leaf, or of a tensor that was told to
                   `retain_grad()`: a Tensor of the same shape and dtype; None before
    creators       the tensors it was made from; empty for a leaf
    creation_op    the op that made it; None for a leaf
    """

    __slots__ = ()

    def __init__(self, data: Any, requires_grad: bool = False, dtype: Any = None) -> None:
        """A leaf with a copy of `data`: numbers, nested lists of them, an array or a tensor.

        Floats that are no array take the default dtype unless `dtype` says otherwise. Raises DtypeMismatch for what is
        no number, and for integers that are to require a gradient.
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

    # What it is --------------------------------------------------------------------------------

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
        """Add to the `grad` of every leaf below this tensor the gradient that flows from here.

        `gradient` is the incoming one, of this tensor's shape; it may be left out for one element, and is then 1.
        The graph's saved values are freed unless `retain_graph`; with `create_graph` the gradients can be
        differentiated again. Raises NonScalarBackward, NoGradRequired, BackwardTwice, ShapeMismatch.
        """
        backward([self], [gradient], retain_graph=retain_graph or create_graph, create_graph=create_graph)

    def retain_grad(self) -> None:
        """Keep this tensor's own gradient too, although it is not a leaf."""
        self.retains_grad = True

    def zero_grad(self) -> None:
        """Forget the accumulated gradient."""
        self.grad = None

    def detach(self) -> Tensor:
        """The same values, cut off from the graph."""
        return self.wrap(self.data)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Set `requires_grad`, and return the tensor. Raises DtypeMismatch for integers and booleans."""
        if requires_grad and not dtypes.is_differentiable(self.dtype):
            raise DtypeMismatch(f"only floating and complex tensors can require gradients, not {self.dtype}")
        self.requires_grad = requires_grad
        return self

    @classmethod
    def __apply_op__(cls, op: Op, args: tuple[Any, ...]) -> Any:
        """Compute `op` on the tensors' values, and link the result to the tensors it was made from."""
        data = op.compute(plain(op, args))
        if type(data) is tuple:
            return tuple(map(cls.wrap, data))
        flows = op.rules and any(node.requires_grad for node in nodes(op, args))
        if flows and dtypes.is_differentiable(data.dtype) and is_recording():
            return cls.record(data, op, args)
        return cls.wrap(data)
