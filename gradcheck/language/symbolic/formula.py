"""Formula: a tensor that remembers how it is written, so that a gradient rule called on formulas yields a formula."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.modes import is_recording
from gradcheck.autograd.node import Node, nodes
from gradcheck.autograd.op import Op
from gradcheck.autograd.signature import Parameter
from gradcheck.errors import Unsupported
from gradcheck.language.expr.nodes import Attribute, Call, Dtype, Expr, Literal, Sequence, Slice
from gradcheck.language.expr.printer import to_text
from gradcheck.language.symbolic.sizes import Shape, bare, remembers, whole

#: An array that no name stands for is written out if it is no larger than this.
MAX_WRITTEN_OUT = 256


class Formula(Node):
    """A tensor's values, `data`, and the expression `expr` that they are the value of.

    A node as a Tensor is one: the reverse sweep runs over formulas too.
    """

    __slots__ = ("_shape", "expr")

    def __init__(self, data: np.ndarray, expr: Expr, *, requires_grad: bool = False) -> None:
        super().__init__(data, requires_grad)
        self.expr = expr
        self._shape: Shape | None = None

    @property
    def shape(self) -> Shape:
        """The sizes, each of which knows that it is `x.shape[i]`."""
        return self._shape or Shape(self.data.shape, Attribute(self.expr, "shape"))

    def called(self, expr: Expr) -> None:
        """From now on, write it so: it has been given a name."""
        self.expr, self._shape = expr, None

    def __repr__(self) -> str:
        return f"Formula({to_text(self.expr)}, shape={self.data.shape}, dtype={self.dtype})"

    @classmethod
    def __apply_op__(cls, op: Op, args: tuple[Any, ...]) -> Any:
        return apply(op, args)


def apply(op: Op, args: tuple[Any, ...]) -> Any:
    """The op on the formulas' values, written as a call of it. Raises what the op raises, and Unsupported."""
    result = op.compute([plain(arg) for arg in args])
    formula = Formula(result, call(op, args))
    if op.elementwise:
        formula._shape = _inherited(result.shape, args)
    flows = op.rules and any(node.requires_grad for node in nodes(op, args))
    if flows and dtypes.is_differentiable(result.dtype) and is_recording():
        formula.requires_grad = True
        formula.creation_op, formula.first = op, args
    return formula


def _inherited(shape: tuple[int, ...], args: tuple[Any, ...]) -> Shape | None:
    """An elementwise result has the shape of an operand that was not broadcast, which is shorter to write."""
    for arg in args:
        if type(arg) is Formula and arg.data.shape == shape:
            return arg.shape
    return None


# To arrays, and to expressions -------------------------------------------------------------------


def plain(value: Any) -> Any:
    """An argument with arrays for formulas and bare numbers for those that remember."""
    if type(value) is Formula:
        return value.data
    if remembers(value):
        return bare(value)
    if isinstance(value, (tuple, list)):
        items = [plain(item) for item in value]
        return items if isinstance(value, list) else tuple(items)
    if isinstance(value, slice):
        return slice(plain(value.start), plain(value.stop), plain(value.step))
    return value


def call(op: Op, args: tuple[Any, ...]) -> Expr:
    """How the op's call with these arguments, all of its parameters in order, is written: what is a default is left
    out, what follows that is given by keyword."""
    positional: list[Expr] = []
    keywords: list[tuple[str, Expr]] = []
    for parameter, arg in zip(op.parameters, args, strict=True):
        if _is_default(parameter, arg):
            continue
        if keywords or parameter.keyword_only or len(positional) < op.parameters.index(parameter):
            keywords.append((parameter.name, to_expr(arg)))
        else:
            positional.append(to_expr(arg))
    return Call(op.name, tuple(positional), tuple(keywords))


def _is_default(parameter: Parameter, arg: Any) -> bool:
    default = parameter.default
    return arg is default or (type(arg) is type(default) and type(arg) in _SIMPLE and arg == default)


_SIMPLE = (bool, int, float, str, tuple)


def to_expr(value: Any) -> Expr:
    """How an argument of an op is written. Raises Unsupported for an array too large to be written out."""
    if isinstance(value, (Formula, Shape)) or remembers(value):
        return cast(Expr, value.expr)
    if isinstance(value, (tuple, list)):
        return whole(value) or Sequence(tuple(to_expr(item) for item in value), isinstance(value, tuple))
    if isinstance(value, slice):
        return Slice(*(None if part is None else to_expr(part) for part in (value.start, value.stop, value.step)))
    if isinstance(value, np.dtype):
        return Dtype(value.name)
    if isinstance(value, (np.ndarray, np.generic)):
        return _written_out(np.asarray(value))
    if value is None or value is Ellipsis or isinstance(value, (bool, int, float, complex, str)):
        return Literal(value)
    raise Unsupported(f"a formula cannot be written with {type(value).__name__}")


def _written_out(array: np.ndarray) -> Expr:
    if array.size > MAX_WRITTEN_OUT:
        raise Unsupported(f"an array of shape {array.shape} that has no name cannot be written out in a formula")
    dtype = (("dtype", Dtype(array.dtype.name)),)
    if not array.size:
        return Call("zeros", (to_expr(array.shape),), dtype)
    values = array.astype(np.float64) if array.dtype == dtypes.BFLOAT16 else array
    return Call("tensor", (to_expr(values.tolist()),), dtype)
