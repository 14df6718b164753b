"""Symbolic tensors and sizes, on which a gradient rule yields a formula.

A `Formula` is a tensor with its expression. Its `shape` holds symbolic sizes, so that a rule's results from
`x.shape[0]` hold for other sizes as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, cast

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.modes import is_recording
from gradcheck.autograd.node import Node, nodes
from gradcheck.autograd.op import Op
from gradcheck.autograd.signature import Parameter
from gradcheck.errors import Unsupported
from gradcheck.language.evaluation.scalar_arithmetic import ARITHMETIC
from gradcheck.language.expr.nodes import Attribute, Call, Dtype, Expr, Literal, Sequence, Slice
from gradcheck.language.expr.printer import to_text

#: Larger arrays without a name are not written out.
MAX_WRITTEN_OUT = 256


class Formula(Node):
    """A tensor's `data` with its expression `expr`; a node for the sweep."""

    __slots__ = ("_shape", "expr")

    def __init__(self, data: np.ndarray, expr: Expr, *, requires_grad: bool = False) -> None:
        super().__init__(data, requires_grad)
        self.expr = expr
        self._shape: Shape | None = None

    @property
    def shape(self) -> Shape:  # type: ignore[override]
        """The sizes, each with the expression `x.shape[i]`."""
        return self._shape or Shape(self.data.shape, Attribute(self.expr, "shape"))

    def set_expr(self, expr: Expr) -> None:
        """Replace the expression, since the tensor now has a name."""
        self.expr, self._shape = expr, None

    def __repr__(self) -> str:
        return f"Formula({to_text(self.expr)}, shape={self.data.shape}, dtype={self.dtype})"

    @classmethod
    def __apply_op__(cls, op: Op, args: tuple[Any, ...]) -> Formula:
        """Return the op's result, with its call as the expression."""
        formula = Formula(op.compute([numeric_value(arg) for arg in args]), call_expr(op, args))
        data = formula.data
        if op.elementwise:  # the shape of an operand that was not broadcast is shorter to write
            alike = (arg for arg in args if isinstance(arg, Formula) and arg.data.shape == data.shape)
            formula._shape = next((arg.shape for arg in alike), None)
        flows = op.rules and any(node.requires_grad for node in nodes(op, args))
        if flows and dtypes.is_differentiable(data.dtype) and is_recording():
            formula.requires_grad = True
            formula.creation_op, formula.arguments = op, args
        return formula


def _operator(op: str, *, reflected: bool = False) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        if not isinstance(other, (int, float)):
            return NotImplemented
        if op == "mul" and type(other) is int and other == 1:  # the first step of `math.prod`
            return self
        return arithmetic(op, other, self) if reflected else arithmetic(op, self, other)

    return method


_reflected = partial(_operator, reflected=True)


class SymbolicNumber:
    """A number with its expression; arithmetic keeps it, comparison does not."""

    expr: Expr
    # Attributes of NumPy's scalars, so that evaluation leaves these numbers to the host.
    dtype: np.dtype = np.dtype(np.int64)
    shape = ()

    __add__, __radd__ = _operator("add"), _reflected("add")
    __sub__, __rsub__ = _operator("sub"), _reflected("sub")
    __mul__, __rmul__ = _operator("mul"), _reflected("mul")
    __pow__, __rpow__ = _operator("pow"), _reflected("pow")
    __truediv__, __rtruediv__ = _operator("div"), _reflected("div")
    __floordiv__, __rfloordiv__ = _operator("floor_divide"), _reflected("floor_divide")
    __mod__, __rmod__ = _operator("remainder"), _reflected("remainder")

    def __neg__(self) -> Any:
        return symbolic_number(-numeric_value(self), Call("neg", (self.expr,)))

    @classmethod
    def __apply_op__(cls, op: Op, args: tuple[Any, ...]) -> Any:
        return Formula.__apply_op__(op, args)


class SymbolicInteger(SymbolicNumber, int):  # type: ignore[misc]  # int has another signature of **
    """A size, or an integer computed from sizes."""

    #: The shape that holds it.
    owner_shape: Shape | None = None


class SymbolicFloat(SymbolicNumber, float):  # type: ignore[misc]  # as of int
    """A float computed from sizes, such as `1 / x.shape[0]`."""

    dtype = np.dtype(np.float64)


class Shape(tuple):
    """A shape with its expression, `x.shape`."""

    expr: Expr

    def __new__(cls, sizes: Iterable[int], expr: Expr) -> Shape:
        known = (symbolic_number(n, Call("getitem", (expr, Literal(i)))) for i, n in enumerate(sizes))
        shape = super().__new__(cls, known)
        shape.expr = expr
        for size in shape:
            size.owner_shape = shape
        return shape


def symbolic_number(value: Any, expr: Expr) -> Any:
    """Return a number with an expression; bool and complex stay plain."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return value
    number: Any = SymbolicInteger(value) if isinstance(value, int) else SymbolicFloat(value)
    number.expr = expr
    return number


def arithmetic(op: str, left: Any, right: Any) -> Any:
    """Return `left + right` and its like on symbolic or plain numbers."""
    return symbolic_number(
        ARITHMETIC[op](numeric_value(left), numeric_value(right)), Call(op, (to_expr(left), to_expr(right)))
    )


def numeric_value(value: Any) -> Any:
    """Return an argument with arrays and plain numbers for symbolic ones."""
    if isinstance(value, Formula):
        return value.data
    if isinstance(value, SymbolicNumber):
        return int(value) if isinstance(value, SymbolicInteger) else float(cast(SymbolicFloat, value))
    if isinstance(value, (tuple, list)):
        items = [numeric_value(item) for item in value]
        return items if isinstance(value, list) else tuple(items)
    if isinstance(value, slice):
        return slice(numeric_value(value.start), numeric_value(value.stop), numeric_value(value.step))
    return value


def call_expr(op: Op, args: tuple[Any, ...]) -> Call:
    """Return the call of an op without its defaults; keywords after a gap."""
    positional: list[Expr] = []
    keywords: list[tuple[str, Expr]] = []
    keeps = any(parameter.name == "keepdim" and arg is True for parameter, arg in zip(op.parameters, args, strict=True))
    for position, (parameter, arg) in enumerate(zip(op.parameters, args, strict=True)):
        is_named = keeps and parameter.name == "dim"  # torch keeps a dimension only if it is named
        if _is_default(parameter, arg) and not is_named:
            continue
        if keywords or parameter.keyword_only or len(positional) < position:
            keywords.append((parameter.name, to_expr(arg)))
        else:
            positional.append(to_expr(arg))
    return Call(op.name, tuple(positional), tuple(keywords))


def _is_default(parameter: Parameter, arg: Any) -> bool:
    default = parameter.default
    is_simple = isinstance(arg, (bool, int, float, str, tuple))
    return arg is default or (type(arg) is type(default) and is_simple and arg == default)


def to_expr(value: Any) -> Expr:
    """Return the expression of an op's argument; raise Unsupported."""
    if isinstance(value, (Formula, Shape, SymbolicNumber)):
        return value.expr
    if isinstance(value, (tuple, list)):
        return _shape_expr(value) or Sequence(tuple(to_expr(item) for item in value), isinstance(value, tuple))
    if isinstance(value, slice):
        return Slice(*(None if part is None else to_expr(part) for part in (value.start, value.stop, value.step)))
    if isinstance(value, np.dtype):
        return Dtype(value.name)
    if isinstance(value, (np.ndarray, np.generic)):
        return _written_out(np.asarray(value))
    if value is None or value is Ellipsis or isinstance(value, (bool, int, float, complex, str)):
        return Literal(value)
    raise Unsupported(f"a formula cannot be written with {type(value).__name__}")


def _shape_expr(sizes: tuple[Any, ...] | list[Any]) -> Expr | None:
    """Return `x.shape` for all sizes of a tensor in order, else None."""
    shape = getattr(sizes[0], "owner_shape", None) if sizes else None
    if shape is None or len(shape) != len(sizes) or any(a is not b for a, b in zip(shape, sizes, strict=True)):
        return None
    return cast(Shape, shape).expr


def _written_out(array: np.ndarray) -> Expr:
    if array.size > MAX_WRITTEN_OUT:
        raise Unsupported(f"an array of shape {array.shape} that has no name cannot be written out in a formula")
    dtype = (("dtype", Dtype(array.dtype.name)),)
    if not array.size:
        return Call("zeros", (to_expr(array.shape),), dtype)
    values = array.astype(np.float64) if array.dtype == dtypes.BFLOAT16 else array
    return Call("tensor", (to_expr(values.tolist()),), dtype)
