"""Powers and roots, element by element."""

from __future__ import annotations

import cmath
import math
from typing import Any

import numpy as np

from gradcheck.autograd.op import op
from gradcheck.autograd.ops.complex_parts import imag, real
from gradcheck.autograd.ops.creation import zeros_like
from gradcheck.autograd.ops.exponential import log
from gradcheck.autograd.ops.extrema import where
from gradcheck.errors import DomainError

_NUMBER = (int, float, complex)


def _pow_input(g: Any, y: Any, x: Any, p: Any) -> Any:
    if not isinstance(p, _NUMBER):
        return where(p == 0, 0, g * (p * x ** (p - 1)))
    if p == 0:
        return zeros_like(g)
    return g * (p * x) if p == 2 else g * (p * x ** (p - 1))


def _pow_exponent(g: Any, y: Any, x: Any, p: Any) -> Any:
    """torch's masks: `0 ** p` counts as flat in p, from p = 0 upward."""
    nonnegative = (real(p) >= 0) & (imag(p) == 0) if p.dtype.kind == "c" else p >= 0
    if isinstance(x, _NUMBER):
        if x != 0:
            return g * (y * _log_of_number(x, p.dtype.kind == "c"))
        return g * where(nonnegative, 0, y * -math.inf)
    flat = (x == 0) & nonnegative
    return g * (where(flat, 0, y) * log(where(flat, 1, x)))


def _log_of_number(x: Any, into_complex: bool) -> Any:
    if into_complex or isinstance(x, complex):
        return cmath.log(x)
    return math.log(x) if x > 0 else math.nan


@op(
    (_pow_input, _pow_exponent),
    elementwise=True,
    takes="ifc",
    domain=((0.3, 3.0), (-3.0, 3.0)),
    kinks="input = 0",
    samples=(
        "randn(2, 3) ** 2",
        "randn(2, 3) ** 3",
        "randn(2, 3) ** -2",
        "pow(randn(3), 0)",
        "pow(randn(3), 1)",
        "uniform(0.1, 2, [3]) ** 0.5",
        "2 ** randn(3)",
        "0 ** uniform(0.1, 2, [3])",
        "(-2.0) ** randn(3)",
        "pow(tensor([0.0, 0.0, 1.0, 2.0]), tensor([0.0, 2.0, 0.0, 1.0]))",
        "pow(tensor([-2.0, -1.0]), tensor([2.0, 3.0]))",
        "pow(randn(2, 1), tensor([1, 2, 3]))",
        "randint(1, 5, [3]) ** 2",
        "pow(randint(1, 5, [3]), uniform(0.5, 2, [3]))",
    ),
    analytic=True,
)
def pow(input: Any, exponent: Any) -> Any:
    """`input ** exponent`. The gradient for the exponent takes `0 ** p` to be flat for p >= 0, as torch does."""
    if exponent.dtype.kind in "iu" and np.any(exponent < 0):
        raise DomainError("pow: an integer to the power of a negative integer")
    return input**exponent


@op(lambda g, y, x: g * (2 * x), elementwise=True, analytic=True)
def square(input: Any) -> Any:
    """The square."""
    return np.square(input.astype(np.int64) if input.dtype.kind == "b" else input)


@op(lambda g, y, x: g / (2 * y), elementwise=True, floating=True, domain=((0.1, 3.0),), kinks="0", analytic=True)
def sqrt(input: Any) -> Any:
    """The square root; NaN of negative numbers."""
    return np.sqrt(input)


@op(
    lambda g, y, x: g * (-0.5 * (y * y * y)),
    elementwise=True,
    floating=True,
    domain=((0.1, 3.0),),
    kinks="0",
    analytic=True,
)
def rsqrt(input: Any) -> Any:
    """The reciprocal of the square root."""
    return 1 / np.sqrt(input)
