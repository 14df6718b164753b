"""Sizes that remember how they are written, so that what is computed from `x.shape[0]` holds for other sizes too."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, cast

import numpy as np

from gradcheck.autograd.op import Op
from gradcheck.language.evaluation.scalars import ARITHMETIC
from gradcheck.language.expr.nodes import Call, Expr, Literal


def _remembering(op: str, reflected: bool = False) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        if not isinstance(other, (int, float)):
            return NotImplemented
        left, right = (other, self) if reflected else (self, other)
        if op == "mul" and type(other) is int and other == 1:  # as `math.prod` begins
            return self
        return arithmetic(op, left, right)

    return method


class _Remembering:
    """Arithmetic with a number that knows its expression gives another; comparing such numbers gives plain truth."""

    expr: Expr
    # NumPy's scalars have these too: whatever has them is no plain number, and evaluation leaves it to the host.
    dtype: np.dtype = np.dtype(np.int64)
    shape = ()

    __add__, __radd__ = _remembering("add"), _remembering("add", reflected=True)
    __sub__, __rsub__ = _remembering("sub"), _remembering("sub", reflected=True)
    __mul__, __rmul__ = _remembering("mul"), _remembering("mul", reflected=True)
    __pow__, __rpow__ = _remembering("pow"), _remembering("pow", reflected=True)
    __truediv__, __rtruediv__ = _remembering("div"), _remembering("div", reflected=True)
    __floordiv__, __rfloordiv__ = _remembering("floor_divide"), _remembering("floor_divide", reflected=True)
    __mod__, __rmod__ = _remembering("remainder"), _remembering("remainder", reflected=True)

    def __neg__(self) -> Any:
        return remembering(-bare(self), Call("neg", (self.expr,)))

    @classmethod
    def __apply_op__(cls, op: Op, args: tuple[Any, ...]) -> Any:
        from gradcheck.language.symbolic.formula import apply

        return apply(op, args)


class Size(_Remembering, int):  # type: ignore[misc]  # int's own ** takes a modulus
    """A size, or an integer made of sizes."""

    #: The shape that it is an entry of.
    whole: Shape | None = None


class Ratio(_Remembering, float):  # type: ignore[misc]
    """A float made of sizes, such as `1 / x.shape[0]`."""

    dtype = np.dtype(np.float64)


class Shape(tuple):
    """A shape that remembers whose it is: `expr` is `x.shape`."""

    expr: Expr

    def __new__(cls, sizes: Iterable[int], expr: Expr) -> Shape:
        known = (remembering(n, Call("getitem", (expr, Literal(i)))) for i, n in enumerate(sizes))
        shape = super().__new__(cls, known)
        shape.expr = expr
        for size in shape:
            size.whole = shape
        return shape


def whole(sizes: tuple[Any, ...] | list[Any]) -> Expr | None:
    """How these sizes are written as one, `x.shape`; None if they are not all of a tensor's, in their order."""
    shape = getattr(sizes[0], "whole", None) if sizes else None
    if shape is None or len(shape) != len(sizes) or any(a is not b for a, b in zip(shape, sizes, strict=True)):
        return None
    return cast(Expr, shape.expr)


def remembering(value: Any, expr: Expr) -> Any:
    """A number that is written `expr`; truth values and complex numbers stay as they are."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return value
    number: Any = Size(value) if isinstance(value, int) else Ratio(value)
    number.expr = expr
    return number


def arithmetic(op: str, left: Any, right: Any) -> Any:
    """`left + right` and its like on numbers of which one remembers."""
    return remembering(ARITHMETIC[op](bare(left), bare(right)), Call(op, (written(left), written(right))))


def remembers(value: Any) -> bool:
    """Whether it is a number that knows its expression."""
    return isinstance(value, _Remembering)


def written(value: Any) -> Expr:
    """The expression of a number."""
    return value.expr if isinstance(value, _Remembering) else Literal(value)


def bare(value: Any) -> Any:
    """A number without its memory."""
    if not isinstance(value, _Remembering):
        return value
    return int(value) if isinstance(value, int) else float(value)  # type: ignore[arg-type]
