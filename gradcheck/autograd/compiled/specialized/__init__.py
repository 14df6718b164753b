"""Forwards of ops with arguments that are no tensors, prepared for plans: what these come to is asked once.

Each entry takes an op's arguments, which the op has accepted before, and gives a function of the arrays among them, or
None where it knows none. The function does for arrays of the same shapes and dtypes what the op's own forward does, bit
for bit, with NumPy's quickest calls for few numbers: ufuncs' own reductions, methods of arrays. The arrays are plain,
of float32, float64, booleans or integers. The definition is the op's forward; one that has been exchanged has no entry.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcheck.autograd.compiled.specialized import pieces, reductions, shapes
from gradcheck.autograd.compiled.specialized.entries import PREPARED, Function
from gradcheck.autograd.node import flat
from gradcheck.autograd.op import Op

__all__ = ["are_defaults", "asks_for_values", "function_of", "pieces", "reductions", "shapes"]


def function_of(op: Any, args: Any) -> Function | None:
    """The forward of an op with these arguments as a function of the arrays among them; None if it is not prepared."""
    prepare = PREPARED.get(op.forward)
    return None if prepare is None else prepare(*args)


def asks_for_values(op: Op, values: list[Any]) -> bool:
    """Whether the shape of the result depends on values: a mask picks as many as are true."""
    if op.name == "one_hot":
        return True
    if op.name not in ("getitem", "index_adjoint", "index_put"):
        return False
    return any(isinstance(value, np.ndarray) and value.dtype.char in "?B" for value in flat(values[1:2]))


def are_defaults(op: Op, values: Sequence[Any], count: int) -> bool:
    """Whether the arguments behind the first `count` are the defaults."""
    pairs = zip(values[count:], op.parameters[count:], strict=True)
    return all(type(value) is type(parameter.default) and value == parameter.default for value, parameter in pairs)
