"""What ops on square matrices ask of their arguments, and matrices for examples."""

from __future__ import annotations

from typing import Any

from gradcheck.autograd.dtypes import HALVES
from gradcheck.autograd.ops.common.kinds import require_floating
from gradcheck.errors import DtypeMismatch, ShapeMismatch

#: Matrices far from singular: one, and a batch of two.
REGULAR = "tensor([[3.0, 1.0, -0.5], [0.4, -2.0, 1.0], [1.5, 0.3, 2.5]])"
BATCH = "tensor([[[2.0, 0.5], [-1.0, 1.5]], [[1.0, -2.0], [0.7, 3.0]]])"


def matrices(input: Any, name: str) -> Any:
    """`input`, if it has at least 2 dimensions. Raises ShapeMismatch."""
    if input.ndim < 2:
        raise ShapeMismatch(f"{name} takes matrices, not a shape of {list(input.shape)}")
    return input


def square(input: Any, name: str) -> Any:
    """`input`, if it is (…, n, n), of floating or complex numbers. Raises ShapeMismatch, DtypeMismatch."""
    if input.ndim < 2 or input.shape[-1] != input.shape[-2]:
        raise ShapeMismatch(f"{name} takes square matrices, not a shape of {list(input.shape)}")
    require_floating(name, input.dtype)
    return input


def precise(input: Any, name: str) -> Any:
    """Square matrices that are not in half precision, which torch refuses to factorize. Raises DtypeMismatch too."""
    if square(input, name).dtype in HALVES:
        raise DtypeMismatch(f"{name} does not take half precision ({input.dtype})", hint="convert it: x.float()")
    return input
