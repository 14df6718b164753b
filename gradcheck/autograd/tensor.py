"""Tensor: an array that remembers what it was made from, so that gradients can flow back."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.modes import default_dtype, is_recording
from gradcheck.autograd.op import TABLE, Op
from gradcheck.autograd.operators import Operators
from gradcheck.errors import DtypeMismatch, ShapeMismatch

_new = object.__new__
NUMBERS = (float, int)
#: The dtypes whose arithmetic needs no thought.
PLAIN = (np.dtype(np.float64), np.dtype(np.float32))


class Tensor(Operators):
    """An n-dimensional array of numbers that takes part in automatic differentiation.

    data           the values, an `ndarray`
    requires_grad  whether gradients flow to it
    grad           after `backward()`, the accumulated gradient of a leaf, or of a tensor that was told to
                   `retain_grad()`: a Tensor of the same shape and dtype; None before
    creators       the tensors it was made from; empty for a leaf
    creation_op    the op that made it; None for a leaf
    """

    # A pair of arguments is kept flat: the fewer containers a long graph is made of, the less there is to collect.
    __slots__ = (
        "__weakref__", "_first", "_freed", "_others", "_retains_grad", "creation_op", "data", "grad", "requires_grad"
    )  # fmt: skip

    data: np.ndarray
    grad: Tensor | None
    requires_grad: bool
    creation_op: Op | None
    _first: Any
    _others: Any
    _freed: bool
    _retains_grad: bool

    def __init__(self, data: Any, requires_grad: bool = False, dtype: Any = None) -> None:
        if isinstance(data, Tensor):
            data = data.data
        array = np.array(data, dtype=dtypes.BY_NAME.get(dtype, dtype) if isinstance(dtype, str) else dtype)
        if dtype is None and array.dtype == np.float64 and not isinstance(data, (np.ndarray, np.generic)):
            array = array.astype(default_dtype(), copy=False)
        if array.dtype.kind not in "biufcV":
            raise DtypeMismatch(f"a tensor holds numbers, not {array.dtype}")
        if requires_grad and not dtypes.is_differentiable(array.dtype):
            raise DtypeMismatch(f"only floating and complex tensors can require gradients, not {array.dtype}")
        self.data = array
        self.grad = None
        self.requires_grad = requires_grad
        self.creation_op = None
        self._first, self._others = None, ()
        self._freed = self._retains_grad = False

    # What it is --------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        return self.data.shape

    @property
    def dtype(self) -> np.dtype:
        return self.data.dtype

    @property
    def ndim(self) -> int:
        return self.data.ndim

    @property
    def arguments(self) -> tuple[Any, ...]:
        """What `creation_op` was applied to; empty for a leaf."""
        if self.creation_op is None:
            return ()
        return (self._first, *self._others) if type(self._others) is tuple else (self._first, self._others)

    @property
    def creators(self) -> tuple[Tensor, ...]:
        op, args = self.creation_op, self.arguments
        if op is not None and op.sequence is not None:
            args = (*args, *args[op.sequence])
        return tuple(a for a in args if type(a) is Tensor)

    @property
    def is_leaf(self) -> bool:
        return self.creation_op is None

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

    def __len__(self) -> int:
        return len(self.data)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.data, dtype=dtype, copy=copy)

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
        from gradcheck.autograd.backward import backward

        backward([self], [gradient], retain_graph=retain_graph or create_graph, create_graph=create_graph)

    def retain_grad(self) -> None:
        """Keep this tensor's own gradient too, although it is not a leaf."""
        self._retains_grad = True

    def zero_grad(self) -> None:
        """Forget the accumulated gradient."""
        self.grad = None

    def detach(self) -> Tensor:
        """The same values, cut off from the graph."""
        return wrap(self.data)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Set `requires_grad`, and return the tensor."""
        if requires_grad and not dtypes.is_differentiable(self.dtype):
            raise DtypeMismatch(f"only floating and complex tensors can require gradients, not {self.dtype}")
        self.requires_grad = requires_grad
        return self

    # Recording -----------------------------------------------------------------------------------

    @classmethod
    def __apply_op__(cls, op: Op, args: tuple[Any, ...]) -> Any:
        return record(op, args)

    def __mul__(self, other: Any) -> Any:
        return apply_pair(TABLE["mul"], self, other)

    def __add__(self, other: Any) -> Any:
        return apply_pair(TABLE["add"], self, other)

    def __sub__(self, other: Any) -> Any:
        return apply_pair(TABLE["sub"], self, other)

    def __truediv__(self, other: Any) -> Any:
        return apply_pair(TABLE["div"], self, other)


def wrap(data: Any) -> Tensor:
    """A leaf that requires no gradient and shares `data`."""
    tensor = _new(Tensor)
    tensor.data = data
    tensor.grad = None
    tensor.requires_grad = False
    tensor.creation_op = None
    tensor._first, tensor._others = None, ()
    tensor._freed = tensor._retains_grad = False
    return tensor


def apply_pair(op: Op, a: Tensor, b: Any) -> Any:
    """`op(a, b)` for the operators that fill long graphs: the usual dtypes skip all generality."""
    left = a.data
    dtype = left.dtype
    if op.ufunc is None or dtype not in PLAIN:
        return op(a, b)
    if type(b) is Tensor:
        right = b.data
        if right.dtype is not dtype:
            return op(a, b)
        wanted = a.requires_grad or b.requires_grad
    elif type(b) in NUMBERS:
        right = constant(b, dtype)
        wanted = a.requires_grad
    else:
        return op(a, b)
    try:
        data = op.ufunc(left, right)
    except ValueError as error:
        raise ShapeMismatch(f"{op.name}: {error}") from error
    if type(data) is not np.ndarray:  # NumPy makes scalars of 0-d results
        data = np.asarray(data)
    return _link(op, data, a, b) if wanted and is_recording() else wrap(data)


def constant(value: Any, dtype: np.dtype) -> Any:
    """A Python number as a 0-d array, which NumPy combines with arrays in half the time."""
    return _constant(value, dtype) if type(value) in NUMBERS and value else value


@lru_cache(maxsize=1024)
def _constant(value: float, dtype: np.dtype) -> np.ndarray:
    array = np.asarray(value, dtype)
    array.flags.writeable = False
    return array


def _link(op: Op, data: np.ndarray, first: Any, others: Any) -> Tensor:
    out = _new(Tensor)
    out.data = data
    out.grad = None
    out.requires_grad = True
    out.creation_op = op
    out._first = first
    out._others = others
    out._freed = out._retains_grad = False
    return out


def record(op: Op, args: tuple[Any, ...]) -> Any:
    """Compute `op` on the tensors' values, and link the result to the tensors it was made from."""
    creators = [a for a in args if type(a) is Tensor]
    if op.sequence is not None:
        creators += [a for a in args[op.sequence] if type(a) is Tensor]
    data = op.compute(plain(op, args))
    if isinstance(data, tuple):
        return tuple(wrap(part) for part in data)
    wanted = op.rules and any(c.requires_grad for c in creators) and dtypes.is_differentiable(data.dtype)
    return _link(op, data, args[0], args[1:]) if wanted and is_recording() else wrap(data)


def plain(op: Op, args: tuple[Any, ...]) -> list[Any]:
    """The arguments with arrays for tensors."""
    values = [a.data if type(a) is Tensor else a for a in args]
    if op.sequence is not None:
        values[op.sequence] = [a.data if type(a) is Tensor else a for a in values[op.sequence]]
    return values
