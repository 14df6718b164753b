"""Exponentials and logarithms, powers and roots, element by element.

Derivatives: NIST Digital Library of Mathematical Functions, 4.7 and 4.10.
"""

from __future__ import annotations

import cmath
import math
from functools import partial
from typing import Any

import numpy as np

from gradcheck.autograd.op import elementwise, row
from gradcheck.autograd.ops.comparison_where import where
from gradcheck.autograd.ops.complex_numbers import imag, real
from gradcheck.autograd.ops.creation import zeros_like
from gradcheck.errors import DomainError

_smooth = partial(row, floating=True, analytic=True)
_root = partial(row, domain=((0.1, 3.0),), kinks="0", floating=True, analytic=True)
_log = partial(_root, domain=((0.1, 5.0),))

exp = _smooth("exp", "The exponential.", np.exp, lambda g, y, x: g * y)


@elementwise(lambda g, y, x: g * (y * math.log(2)), aliases=("special.exp2",), floating=True, analytic=True)
def exp2(input: Any) -> Any:
    """Two to the power of `input`."""
    if input.dtype.kind == "c":  # NumPy has no complex exp2
        return np.exp(input * math.log(2))
    return np.exp2(input)


_smooth("expm1", "`exp(input) - 1`, precise near 0.", np.expm1, lambda g, y, x: g * (y + 1), aliases=("special.expm1",))


log = _log("log", "The natural logarithm; -inf at 0, NaN below.", np.log, lambda g, y, x: g / x)
_log("log2", "The logarithm to base 2.", np.log2, lambda g, y, x: g / (x * math.log(2)), latex=r"\log_2")
_log("log10", "The logarithm to base 10.", np.log10, lambda g, y, x: g / (x * math.log(10)), latex=r"\log_{10}")


log1p = _smooth(
    "log1p",
    "`log(1 + input)`, precise near 0.",
    np.log1p,
    lambda g, y, x: g / (x + 1),
    aliases=("special.log1p",),
    domain=((-0.8, 3.0),),
    kinks="-1",
)


@elementwise(
    (lambda g, y, a, b: g * (1 / (1 + exp(b - a))), lambda g, y, a, b: g * (1 / (1 + exp(a - b)))),
    takes="fc",
    domain=((-3.0, 3.0), (-3.0, 3.0)),
    samples="logaddexp(tensor([1000.0, -1000.0, 0.0]), tensor([1000.0, 0.0, -1000.0]))",
    analytic=True,
)
def logaddexp(input: Any, other: Any) -> Any:
    """`log(exp(input) + exp(other))`, without overflow."""
    if input.dtype.kind != "c":
        return np.logaddexp(input, other)
    swap = input.real < other.real
    larger, smaller = np.where(swap, other, input), np.where(swap, input, other)
    return larger + np.log1p(np.exp(smaller - larger))


_NUMBER = (int, float, complex)


def _pow_input(g: Any, y: Any, x: Any, p: Any) -> Any:
    if not isinstance(p, _NUMBER):
        return where(p == 0, 0, g * (p * x ** (where(p == 0, 1, p) - 1)))
    if p == 0:
        return zeros_like(g)
    return g * (p * x) if p == 2 else g * (p * x ** (p - 1))


def _pow_exponent(g: Any, y: Any, x: Any, p: Any) -> Any:
    """Count `0 ** p` as flat in p for p >= 0, as torch does."""
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


@elementwise(
    (_pow_input, _pow_exponent),
    takes="ifc",
    domain=((0.3, 3.0), (-3.0, 3.0)),
    kinks="input = 0",
    samples="""
        randn(2, 3) ** 2; randn(2, 3) ** 3; randn(2, 3) ** -2; pow(randn(3), 0); pow(randn(3), 1);
        uniform(0.1, 2, [3]) ** 0.5; 2 ** randn(3); 0 ** uniform(0.1, 2, [3]); (-2.0) ** randn(3);
        pow(tensor([0.0, 0.0, 1.0, 2.0]), tensor([0.0, 2.0, 0.0, 1.0]));
        pow(tensor([-2.0, -1.0]), tensor([2.0, 3.0])); pow(randn(2, 1), tensor([1, 2, 3])); randint(1, 5, [3]) ** 2;
        pow(randint(1, 5, [3]), uniform(0.5, 2, [3]))
    """,
    analytic=True,
)
def pow(input: Any, exponent: Any) -> Any:
    """`input ** exponent`; `0 ** p` counts as flat for p >= 0, as in torch."""
    if exponent.dtype.kind in "iu" and np.any(exponent < 0):
        raise DomainError("pow: an integer to the power of a negative integer")
    return input**exponent


@elementwise(lambda g, y, x: g * (2 * x), analytic=True)
def square(input: Any) -> Any:
    """The square."""
    return np.square(input.astype(np.int64) if input.dtype.kind == "b" else input)


sqrt = _root(
    "sqrt", "The square root; NaN of negative numbers.", np.sqrt, lambda g, y, x: g / (2 * y), latex=r"\sqrt{#}"
)
rsqrt = _root(
    "rsqrt",
    "The reciprocal of the square root.",
    lambda input: 1 / np.sqrt(input),
    lambda g, y, x: g * (-0.5 * (y * y * y)),
)
