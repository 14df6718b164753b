"""One op's part of the reverse sweep: from its output's cotangent to those of its arguments, by its rules."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.op import TABLE, Op
from gradcheck.errors import ShapeMismatch


def cotangents(op: Op, cotangent: Any, output: Any, args: list[Any] | tuple[Any, ...], wanted: list[int]) -> list[Any]:
    """The cotangents of the arguments at the positions `wanted`, each of its argument's shape and dtype.

    Arrays, tensors or formulas alike: whatever goes in comes out. For the argument that is a sequence, a list.
    """
    conjugate = op.holomorphic and cotangent.dtype.kind == "c"
    if conjugate:
        cotangent = cotangent.conj()
    found = []
    for position in wanted:
        rule = op.rules[min(position, len(op.rules) - 1)] if position < len(op.rules) else None
        arg = args[position]
        value: Any
        if rule is None:
            value = [_zeros_like(a) for a in arg] if position == op.sequence else _zeros_like(arg)
        else:
            value = rule(cotangent, output, *args)
        if position == op.sequence:
            found.append([_fit(op, c.conj() if conjugate else c, a) for c, a in zip(value, arg, strict=True)])
        else:
            found.append(_fit(op, value.conj() if conjugate else value, arg))
    return found


def _fit(op: Op, cotangent: Any, arg: Any) -> Any:
    if cotangent.shape != arg.shape:
        if not op.elementwise:
            raise ShapeMismatch(f"the gradient rule of {op.name} made {cotangent.shape} for an argument of {arg.shape}")
        cotangent = TABLE["sum_to_size"](cotangent, arg.shape)
    if cotangent.dtype != arg.dtype:
        if cotangent.dtype.kind == "c" and arg.dtype.kind != "c":
            cotangent = cotangent.real
        if cotangent.dtype != arg.dtype:
            cotangent = cast(cotangent, arg.dtype)
    return cotangent


def cast(value: Any, dtype: np.dtype) -> Any:
    """`value` in another dtype, whatever it is made of."""
    return value.astype(dtype, copy=False) if isinstance(value, np.ndarray) else TABLE["to"](value, dtype)


def _zeros_like(arg: Any) -> Any:
    return np.zeros_like(arg) if isinstance(arg, np.ndarray) else TABLE["zeros_like"](arg)


def in_single(value: Any) -> Any:
    """Half-precision arrays as float32, in which rules are computed; anything else as it is."""
    if isinstance(value, np.ndarray) and value.dtype in dtypes.HALVES:
        return value.astype(np.float32)
    return [in_single(v) for v in value] if isinstance(value, list) else value
