"""Comparisons, logic and tests of elements. Their results are booleans (or bits); no gradient flows."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcheck.autograd.op import op

_TWO: dict[str, Any] = {"elementwise": True, "domain": ((-3.0, 3.0), (-3.0, 3.0))}
_PAIR = "(tensor([1.0, 2.0, nan, inf]), tensor([1.0, 3.0, nan, -inf]))"
_BOOLS = "(tensor([True, True, False]), tensor([True, False, False]))"
_BITS = "(tensor([5, 6, -1]), tensor([3, 2, 7]))"


@op((None, None), samples=(f"eq{_PAIR}", "randint(0, 3, [4]) == 1"), **_TWO)
def eq(input: Any, other: Any) -> Any:
    """Whether equal."""
    return np.equal(input, other)


@op((None, None), aliases=("not_equal",), samples=(f"ne{_PAIR}",), **_TWO)
def ne(input: Any, other: Any) -> Any:
    """Whether different."""
    return np.not_equal(input, other)


@op((None, None), aliases=("less",), samples=(f"lt{_PAIR}", "randn(2, 3) < 0"), takes="bif", **_TWO)
def lt(input: Any, other: Any) -> Any:
    """Whether smaller."""
    return np.less(input, other)


@op((None, None), aliases=("less_equal",), samples=(f"le{_PAIR}",), takes="bif", **_TWO)
def le(input: Any, other: Any) -> Any:
    """Whether smaller or equal."""
    return np.less_equal(input, other)


@op((None, None), aliases=("greater",), samples=(f"gt{_PAIR}",), takes="bif", **_TWO)
def gt(input: Any, other: Any) -> Any:
    """Whether larger."""
    return np.greater(input, other)


@op((None, None), aliases=("greater_equal",), samples=(f"ge{_PAIR}",), takes="bif", **_TWO)
def ge(input: Any, other: Any) -> Any:
    """Whether larger or equal."""
    return np.greater_equal(input, other)


def _close(input: Any, other: Any, rtol: float, atol: float, equal_nan: bool) -> Any:
    if input.dtype.kind == "b":
        return input == other
    near = np.abs(input - other) <= atol + np.abs(rtol * other)
    close = (input == other) | (near & np.isfinite(input) & np.isfinite(other))
    return close | (np.isnan(input) & np.isnan(other)) if equal_nan else close


@op((None, None), samples=(f"isclose{_PAIR}", "isclose(tensor([nan]), tensor([nan]), equal_nan=True)"), **_TWO)
def isclose(input: Any, other: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Any:
    """Whether `abs(input - other) <= atol + rtol * abs(other)`."""
    return _close(input, other, rtol, atol, equal_nan)


# Logic ---------------------------------------------------------------------------------------------


@op((None, None), samples=(f"logical_and{_BOOLS}", f"logical_and{_PAIR}"), **_TWO)
def logical_and(input: Any, other: Any) -> Any:
    """Whether both are true, that is not 0."""
    return np.logical_and(input, other)


@op((None, None), samples=(f"logical_or{_BOOLS}",), **_TWO)
def logical_or(input: Any, other: Any) -> Any:
    """Whether either is true, that is not 0."""
    return np.logical_or(input, other)


@op((None, None), samples=(f"logical_xor{_BOOLS}",), **_TWO)
def logical_xor(input: Any, other: Any) -> Any:
    """Whether just one is true, that is not 0."""
    return np.logical_xor(input, other)


@op((None,), elementwise=True, samples=("logical_not(tensor([0.0, 1.0, nan]))",))
def logical_not(input: Any) -> Any:
    """Whether false, that is 0."""
    return np.logical_not(input)


@op((None, None), elementwise=True, takes="bi", domain=(), samples=(f"bitwise_and{_BITS}", f"bitwise_and{_BOOLS}"))
def bitwise_and(input: Any, other: Any) -> Any:
    """`&` of the bits, or of booleans."""
    return np.bitwise_and(input, other)


@op((None, None), elementwise=True, takes="bi", domain=(), samples=(f"bitwise_or{_BITS}", f"bitwise_or{_BOOLS}"))
def bitwise_or(input: Any, other: Any) -> Any:
    """`|` of the bits, or of booleans."""
    return np.bitwise_or(input, other)


@op((None, None), elementwise=True, takes="bi", domain=(), samples=(f"bitwise_xor{_BITS}", f"bitwise_xor{_BOOLS}"))
def bitwise_xor(input: Any, other: Any) -> Any:
    """Exclusive or of the bits, or of booleans."""
    return np.bitwise_xor(input, other)


@op(
    (None,),
    elementwise=True,
    takes="bi",
    domain=(),
    samples=("bitwise_not(tensor([5, -1]))", "~tensor([True, False])"),
)
def bitwise_not(input: Any) -> Any:
    """`~` of the bits, or of booleans."""
    return np.invert(input)


# Tests ---------------------------------------------------------------------------------------------

_ODD = "tensor([1.0, nan, inf, -inf])"


@op((None,), elementwise=True, samples=(f"isnan({_ODD})",))
def isnan(input: Any) -> Any:
    """Whether NaN."""
    return np.isnan(input)


@op((None,), elementwise=True, samples=(f"isinf({_ODD})",))
def isinf(input: Any) -> Any:
    """Whether infinite."""
    return np.isinf(input)


@op((None,), elementwise=True, samples=(f"isfinite({_ODD})",))
def isfinite(input: Any) -> Any:
    """Whether neither infinite nor NaN."""
    return np.isfinite(input)


@op((None,), elementwise=True, takes="bif", samples=(f"isposinf({_ODD})",))
def isposinf(input: Any) -> Any:
    """Whether infinity."""
    return np.equal(input, np.inf)


@op((None,), elementwise=True, takes="bif", samples=(f"isneginf({_ODD})",))
def isneginf(input: Any) -> Any:
    """Whether minus infinity."""
    return np.equal(input, -np.inf)


@op((None,), elementwise=True, takes="bif", samples=("signbit(tensor([0.0, -0.0, -2.0]))",))
def signbit(input: Any) -> Any:
    """Whether the sign is minus, that of zero too."""
    return np.signbit(input) if input.dtype.kind == "f" else input < 0
