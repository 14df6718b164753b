"""Exponentials and logarithms, and what is made of them, element by element."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcheck.autograd import special
from gradcheck.autograd.op import op
from gradcheck.autograd.ops.extrema import where

_POSITIVE = ((0.1, 5.0),)


@op(lambda g, y, x: g * y, elementwise=True, floating=True, analytic=True)
def exp(input: Any) -> Any:
    """The exponential."""
    return np.exp(input)


@op(lambda g, y, x: g * (y * math.log(2)), aliases=("special.exp2",), elementwise=True, floating=True, analytic=True)
def exp2(input: Any) -> Any:
    """Two to the power of `input`."""
    if input.dtype.kind == "c":  # NumPy has no complex exp2
        return np.exp(input * math.log(2))
    return np.exp2(input)


@op(lambda g, y, x: g * (y + 1), aliases=("special.expm1",), elementwise=True, floating=True, analytic=True)
def expm1(input: Any) -> Any:
    """`exp(input) - 1`, precise near 0."""
    return np.expm1(input)


@op(lambda g, y, x: g / x, elementwise=True, floating=True, domain=_POSITIVE, kinks="0", analytic=True)
def log(input: Any) -> Any:
    """The natural logarithm; -inf at 0, NaN below."""
    return np.log(input)


@op(lambda g, y, x: g / (x * math.log(2)), elementwise=True, floating=True, domain=_POSITIVE, kinks="0", analytic=True)
def log2(input: Any) -> Any:
    """The logarithm to base 2."""
    return np.log2(input)


@op(lambda g, y, x: g / (x * math.log(10)), elementwise=True, floating=True, domain=_POSITIVE, kinks="0", analytic=True)
def log10(input: Any) -> Any:
    """The logarithm to base 10."""
    return np.log10(input)


@op(
    lambda g, y, x: g / (x + 1),
    aliases=("special.log1p",),
    elementwise=True,
    floating=True,
    domain=((-0.8, 3.0),),
    kinks="-1",
    analytic=True,
)
def log1p(input: Any) -> Any:
    """`log(1 + input)`, precise near 0."""
    return np.log1p(input)


@op(
    (lambda g, y, a, b: g * _share(a, b), lambda g, y, a, b: g * _share(b, a)),
    elementwise=True,
    takes="fc",
    domain=((-3.0, 3.0), (-3.0, 3.0)),
    samples=("logaddexp(tensor([1000.0, -1000.0, 0.0]), tensor([1000.0, 0.0, -1000.0]))",),
    analytic=True,
)
def logaddexp(input: Any, other: Any) -> Any:
    """`log(exp(input) + exp(other))`, without overflow."""
    if input.dtype.kind != "c":
        return np.logaddexp(input, other)
    swap = input.real < other.real
    larger, smaller = np.where(swap, other, input), np.where(swap, input, other)
    return larger + np.log1p(np.exp(smaller - larger))


def _share(a: Any, b: Any) -> Any:
    return 1 / (1 + exp(b - a))


def _xlogy_input(g: Any, y: Any, x: Any, z: Any) -> Any:
    flat = (x == 0) & (z <= 0)
    return where(flat, 0, g * log(where(flat, 1, z)))


@op(
    (_xlogy_input, lambda g, y, x, z: g * (x / z)),
    aliases=("special.xlogy",),
    elementwise=True,
    takes="f",
    floating=True,
    domain=((-3.0, 3.0), (0.1, 3.0)),
    kinks="other = 0",
    samples=("xlogy(tensor([0.0, 0.0, 2.0]), tensor([0.0, 1.0, 3.0]))", "xlogy(2, uniform(0.1, 2, [3]))"),
)
def xlogy(input: Any, other: Any) -> Any:
    """`input * log(other)`, and 0 where `input` is 0 (NaN where `other` is)."""
    product = input * np.log(np.where(input == 0, 1, other))
    return np.where(np.isnan(other), other, product)


@op(
    lambda g, y, x: g * (2 / math.sqrt(math.pi) * exp(-(x * x))),
    aliases=("special.erf",),
    elementwise=True,
    takes="f",
    floating=True,
)
def erf(input: Any) -> Any:
    """The error function, `2 / sqrt(pi)` times the integral of `exp(-t**2)` from 0 to `input`."""
    return special.erf(input)


@op(
    lambda g, y, x: g * (-2 / math.sqrt(math.pi) * exp(-(x * x))),
    aliases=("special.erfc",),
    elementwise=True,
    takes="f",
    floating=True,
)
def erfc(input: Any) -> Any:
    """`1 - erf(input)`, precise where that is small."""
    return special.erfc(input)
