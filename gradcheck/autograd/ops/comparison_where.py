"""Comparisons, logic and tests of elements, and choosing by them: `where`, `masked_fill`, `nan_to_num`.

The results of comparisons are booleans (or bits); no gradient flows through them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from ml_dtypes import finfo

from gradcheck.autograd import ops
from gradcheck.autograd.dtypes import real_of
from gradcheck.autograd.op import composite, elementwise
from gradcheck.autograd.promotion import in_single
from gradcheck.errors import DtypeMismatch, ShapeMismatch


@elementwise(
    (None, lambda g, y, c, a, b: ops.where(c, g, 0), lambda g, y, c, a, b: ops.where(c, 0, g)),
    masked=True,
    domain=((0.0, 1.0), (-3.0, 3.0), (-3.0, 3.0)),
    samples="""
        where(randn(2, 3) > 0, randn(2, 3), randn(3)); where(tensor([True, False, True]), randn(3), 0);
        where(tensor([True, False, True]), 1.5, randn(2, 3)); where(randn(2, 1) > 0, randn(3), randn(()));
        where(randn(0) > 0, randn(0), 1.0)
    """,
    analytic=True,
)
def where(condition: Any, input: Any, other: Any) -> Any:
    """`input` where `condition` holds, `other` elsewhere."""
    mask = np.asarray(condition)
    if mask.dtype.kind != "b":
        raise DtypeMismatch(f"where takes a condition of booleans, not {mask.dtype}")
    return np.where(mask, input, other)


@composite(
    samples="""
        {}(randn(2, 3), tensor([[True, False, True], [False, True, True]]), 2.5);
        randn(2, 3).{}(tensor([True, False, True]), -inf); {}(randn(2, 3), tensor([True, False, True]), randn(()))
    """
)
def masked_fill(input: Any, mask: Any, value: Any) -> Any:
    """`value`, a number or a 0-d tensor, where `mask` is true, and `input` elsewhere."""
    if mask.dtype.kind != "b":
        raise DtypeMismatch(f"masked_fill takes a mask of booleans, not of {mask.dtype}")
    if getattr(value, "ndim", 0):
        raise ShapeMismatch(f"masked_fill takes a number or a 0-d tensor as value, not {value.ndim} dimensions")
    return where(mask, value, input)


@elementwise(
    lambda g, y, x, nan=0.0, posinf=None, neginf=None: where((x - x) == 0, g, 0),
    rounds=True,
    samples="nan_to_num(tensor([1.0, nan, inf, -inf])); nan_to_num(tensor([1.0, nan, inf, -inf]), 1.0, 2.0, -2.0)",
)
def nan_to_num(input: Any, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None) -> Any:
    """Finite numbers in the place of NaN and the infinities: `nan`, and by default the largest there are."""
    if input.dtype.kind in "biu":
        return input.copy()
    limit = finfo(real_of(input.dtype))  # type: ignore[no-untyped-call]  # ml_dtypes has no types
    high = float(limit.max) if posinf is None else posinf
    low = float(limit.min) if neginf is None else neginf
    return np.nan_to_num(in_single(input), nan=nan, posinf=high, neginf=low).astype(input.dtype, copy=False)


_OF_TWO: dict[str, Any] = {"domain": ((-3.0, 3.0), (-3.0, 3.0))}
_PAIR = "(tensor([1.0, 2.0, nan, inf]), tensor([1.0, 3.0, nan, -inf]))"
_BOOLS = "(tensor([True, True, False]), tensor([True, False, False]))"
_BITS = "(tensor([5, 6, -1]), tensor([3, 2, 7]))"


@elementwise((None, None), samples=f"eq{_PAIR}; randint(0, 3, [4]) == 1", **_OF_TWO)
def eq(input: Any, other: Any) -> Any:
    """Whether equal."""
    return np.equal(input, other)


@elementwise((None, None), aliases=("not_equal",), samples=f"ne{_PAIR}", **_OF_TWO)
def ne(input: Any, other: Any) -> Any:
    """Whether different."""
    return np.not_equal(input, other)


@elementwise((None, None), aliases=("less",), samples=f"lt{_PAIR}; randn(2, 3) < 0", takes="bif", **_OF_TWO)
def lt(input: Any, other: Any) -> Any:
    """Whether smaller."""
    return np.less(input, other)


@elementwise((None, None), aliases=("less_equal",), samples=f"le{_PAIR}", takes="bif", **_OF_TWO)
def le(input: Any, other: Any) -> Any:
    """Whether smaller or equal."""
    return np.less_equal(input, other)


@elementwise((None, None), aliases=("greater",), samples=f"gt{_PAIR}", takes="bif", **_OF_TWO)
def gt(input: Any, other: Any) -> Any:
    """Whether larger."""
    return np.greater(input, other)


@elementwise((None, None), aliases=("greater_equal",), samples=f"ge{_PAIR}", takes="bif", **_OF_TWO)
def ge(input: Any, other: Any) -> Any:
    """Whether larger or equal."""
    return np.greater_equal(input, other)


@elementwise((None, None), samples=f"isclose{_PAIR}; isclose(tensor([nan]), tensor([nan]), equal_nan=True)", **_OF_TWO)
def isclose(input: Any, other: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Any:
    """Whether `abs(input - other) <= atol + rtol * abs(other)`."""
    if input.dtype.kind == "b":
        return input == other
    near = np.abs(input - other) <= atol + np.abs(rtol * other)
    close = (input == other) | (near & np.isfinite(input) & np.isfinite(other))
    return close | (np.isnan(input) & np.isnan(other)) if equal_nan else close


@elementwise((None, None), samples=f"logical_and{_BOOLS}; logical_and{_PAIR}", **_OF_TWO)
def logical_and(input: Any, other: Any) -> Any:
    """Whether both are true, that is not 0."""
    return np.logical_and(input, other)


@elementwise((None, None), samples=f"logical_or{_BOOLS}", **_OF_TWO)
def logical_or(input: Any, other: Any) -> Any:
    """Whether either is true, that is not 0."""
    return np.logical_or(input, other)


@elementwise((None, None), samples=f"logical_xor{_BOOLS}", **_OF_TWO)
def logical_xor(input: Any, other: Any) -> Any:
    """Whether just one is true, that is not 0."""
    return np.logical_xor(input, other)


@elementwise((None,), samples="logical_not(tensor([0.0, 1.0, nan]))")
def logical_not(input: Any) -> Any:
    """Whether false, that is 0."""
    return np.logical_not(input)


@elementwise((None, None), takes="bi", domain=(), samples=f"bitwise_and{_BITS}; bitwise_and{_BOOLS}")
def bitwise_and(input: Any, other: Any) -> Any:
    """`&` of the bits, or of booleans."""
    return np.bitwise_and(input, other)


@elementwise((None, None), takes="bi", domain=(), samples=f"bitwise_or{_BITS}; bitwise_or{_BOOLS}")
def bitwise_or(input: Any, other: Any) -> Any:
    """`|` of the bits, or of booleans."""
    return np.bitwise_or(input, other)


@elementwise((None, None), takes="bi", domain=(), samples=f"bitwise_xor{_BITS}; bitwise_xor{_BOOLS}")
def bitwise_xor(input: Any, other: Any) -> Any:
    """Exclusive or of the bits, or of booleans."""
    return np.bitwise_xor(input, other)


@elementwise((None,), takes="bi", domain=(), samples="bitwise_not(tensor([5, -1])); ~tensor([True, False])")
def bitwise_not(input: Any) -> Any:
    """`~` of the bits, or of booleans."""
    return np.invert(input)


_ODD = "tensor([1.0, nan, inf, -inf])"


@elementwise((None,), samples=f"isnan({_ODD})")
def isnan(input: Any) -> Any:
    """Whether NaN."""
    return np.isnan(input)


@elementwise((None,), samples=f"isinf({_ODD})")
def isinf(input: Any) -> Any:
    """Whether infinite."""
    return np.isinf(input)


@elementwise((None,), samples=f"isfinite({_ODD})")
def isfinite(input: Any) -> Any:
    """Whether neither infinite nor NaN."""
    return np.isfinite(input)


@elementwise((None,), takes="bif", samples=f"isposinf({_ODD})")
def isposinf(input: Any) -> Any:
    """Whether infinity."""
    return np.equal(input, np.inf)


@elementwise((None,), takes="bif", samples=f"isneginf({_ODD})")
def isneginf(input: Any) -> Any:
    """Whether minus infinity."""
    return np.equal(input, -np.inf)


@elementwise((None,), takes="bif", samples="signbit(tensor([0.0, -0.0, -2.0]))")
def signbit(input: Any) -> Any:
    """Whether the sign is minus, that of zero too."""
    return np.signbit(input) if input.dtype.kind == "f" else input < 0
