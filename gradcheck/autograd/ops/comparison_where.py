"""Comparisons, logic and tests; and `where`, which chooses by them.

The results of comparisons are booleans (or bits); no gradient flows through them.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from ml_dtypes import finfo

from gradcheck.autograd import ops
from gradcheck.autograd.dtypes import real_of
from gradcheck.autograd.op import composite, elementwise, row
from gradcheck.autograd.promotion import in_single
from gradcheck.errors import ArgumentError, DtypeMismatch, ShapeMismatch


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
    mask = condition if hasattr(condition, "dtype") else np.asarray(condition)
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
    """`value`, a number or a 0-d tensor, where `mask` is true, else `input`."""
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
    """`nan` for NaN; the largest finite numbers, or those given, for infs."""
    if input.dtype.kind in "biu":
        return input.copy()
    limit = finfo(real_of(input.dtype))  # type: ignore[no-untyped-call]  # ml_dtypes has no types
    high = float(limit.max) if posinf is None else posinf
    low = float(limit.min) if neginf is None else neginf
    return np.nan_to_num(in_single(input), nan=nan, posinf=high, neginf=low).astype(input.dtype, copy=False)


# Comparisons and tests -----------------------------------------------------------------------------

_PAIR = "{}(tensor([1.0, 2.0, nan, inf]), tensor([1.0, 3.0, nan, -inf]))"
_BOOLS = "{}(tensor([True, True, False]), tensor([True, False, False]))"
_BITS = "{}(tensor([5, 6, -1]), tensor([3, 2, 7]))"
_ODD = "{}(tensor([1.0, nan, inf, -inf]))"
_test = partial(row, rules=(None,), samples=_ODD)
_compare = partial(row, rules=(None, None), domain=((-3.0, 3.0), (-3.0, 3.0)), samples=_PAIR)
_order = partial(_compare, takes="bif")
_logic = partial(_compare, samples=_BOOLS)
_bits = partial(_compare, samples=f"{_BITS}; {_BOOLS}", takes="bi", domain=())

_EQ = f"{_PAIR}; randint(0, 3, [4]) == 1"
_compare("eq", "Whether equal.", np.equal, latex="# = #", samples=_EQ)
_compare("ne", "Whether different.", np.not_equal, aliases=("not_equal",), latex=r"# \ne #")
_LT = f"{_PAIR}; randn(2, 3) < 0"
_order("lt", "Whether smaller.", np.less, latex="# < #", samples=_LT, aliases=("less",))
_order("le", "Whether smaller or equal.", np.less_equal, aliases=("less_equal",), latex=r"# \le #")
_order("gt", "Whether larger.", np.greater, aliases=("greater",), latex="# > #")
_order("ge", "Whether larger or equal.", np.greater_equal, aliases=("greater_equal",), latex=r"# \ge #")

_AND = "Whether both are true, that is not 0."
_logic("logical_and", _AND, np.logical_and, samples=f"{_BOOLS}; {_PAIR}")
_logic("logical_or", "Whether either is true, that is not 0.", np.logical_or)
_logic("logical_xor", "Whether just one is true, that is not 0.", np.logical_xor)
_ZEROS = "{}(tensor([0.0, 1.0, nan]))"
_test("logical_not", "Whether false, that is 0.", np.logical_not, samples=_ZEROS)

_bits("bitwise_and", "`&` of the bits, or of booleans.", np.bitwise_and, latex=r"# \land #")
_bits("bitwise_or", "`|` of the bits, or of booleans.", np.bitwise_or, latex=r"# \lor #")
_bits("bitwise_xor", "Exclusive or of the bits, or of booleans.", np.bitwise_xor)
_not = partial(_test, samples="{}(tensor([5, -1])); ~tensor([True, False])", takes="bi", domain=())
_not("bitwise_not", "`~` of the bits, or of booleans.", np.invert, latex=r"\lnot #")

isnan = _test("isnan", "Whether NaN.", np.isnan)
_test("isinf", "Whether infinite.", np.isinf)
_test("isfinite", "Whether neither infinite nor NaN.", np.isfinite)
_test("isposinf", "Whether infinity.", lambda input: np.equal(input, np.inf), takes="bif")
_test("isneginf", "Whether minus infinity.", lambda input: np.equal(input, -np.inf), takes="bif")


@elementwise((None,), takes="bif", samples="signbit(tensor([0.0, -0.0, -2.0]))")
def signbit(input: Any) -> Any:
    """True where the sign is minus, also of -0.0."""
    return np.signbit(input) if input.dtype.kind == "f" else input < 0


@elementwise(
    (None, None),
    uniform=True,
    samples=f"{_PAIR}; {{}}(tensor([nan]), tensor([nan]), equal_nan=True)",
    domain=((-3.0, 3.0), (-3.0, 3.0)),
)
def isclose(input: Any, other: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Any:
    """True where `abs(input - other) <= atol + rtol * abs(other)`."""
    if rtol < 0 or atol < 0:
        raise ArgumentError(f"isclose takes an rtol and an atol of at least 0, not {rtol} and {atol}")
    if input.dtype.kind == "b":
        return input == other
    near = np.abs(input - other) <= atol + np.abs(rtol * other)
    close = (input == other) | (near & np.isfinite(input) & np.isfinite(other))
    return close | (np.isnan(input) & np.isnan(other)) if equal_nan else close
