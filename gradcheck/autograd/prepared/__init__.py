"""Forwards of ops with arguments that are no tensors, prepared for plans: what these come to is asked once.

Each entry takes an op's arguments, which the op has accepted before, and gives a function of the arrays among them, or
None where it knows none. The function does for arrays of the same shapes and dtypes what the op's own forward does, bit
for bit, with NumPy's quickest calls for few numbers: ufuncs' own reductions, methods of arrays. The arrays are plain,
of float32, float64, booleans or integers. The definition is the op's forward; one that has been exchanged has no entry.
"""

from __future__ import annotations

from typing import Any

from gradcheck.autograd.prepared import pieces, reductions, shapes
from gradcheck.autograd.prepared.entries import PREPARED, Function

__all__ = ["function_of", "pieces", "reductions", "shapes"]


def function_of(op: Any, args: Any) -> Function | None:
    """The forward of an op with these arguments as a function of the arrays among them; None if it is not prepared."""
    prepare = PREPARED.get(op.forward)
    return None if prepare is None else prepare(*args)
