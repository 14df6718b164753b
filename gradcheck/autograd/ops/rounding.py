"""Absolute values, signs and rounding, element by element."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcheck.autograd.op import op
from gradcheck.autograd.ops.complex_parts import conj, real
from gradcheck.autograd.ops.extrema import where

_STEPS = "integers; the gradient is 0"


def _abs_rule(g: Any, y: Any, x: Any) -> Any:
    return g * sgn(x)


@op(
    _abs_rule,
    aliases=("absolute",),
    elementwise=True,
    takes="ifc",
    holomorphic=False,
    kinks="0, where the gradient is 0",
    samples=(
        "abs(complex(randn(2, 3), randn(2, 3)))",
        "abs(tensor([0.0, -0.0, inf, -inf, nan]))",
        "abs(tensor([-2, 3]))",
    ),
)
def abs(input: Any) -> Any:
    """The absolute value; of complex numbers, too."""
    return np.abs(input)


@op(
    (None,),
    elementwise=True,
    takes="bif",
    kinks="0; the gradient is 0",
    samples=("sign(tensor([-2.0, 0.0, 3.0, nan]))",),
)
def sign(input: Any) -> Any:
    """-1, 0 or 1; 0 for NaN, as in torch."""
    return _sign(input)


def _sign(input: Any) -> Any:
    if input.dtype.kind == "b":
        return input
    return np.where(np.isnan(input), 0, np.sign(input)).astype(input.dtype, copy=False)


def _sgn_rule(g: Any, y: Any, x: Any) -> Any:
    """The part of g / |x| across the direction of x; 0 at 0 and for real numbers, whose sign is flat."""
    if x.dtype.kind != "c":
        return g * 0
    size = abs(x)
    divisor = where(size == 0, 1, size)
    return where(size == 0, 0, (g - real(g * conj(y)) * y) / divisor)


@op(
    (_sgn_rule,),
    elementwise=True,
    holomorphic=False,
    kinks="0; the gradient is 0",
    samples=("sgn(complex(randn(2, 3), randn(2, 3)))", "sgn(tensor([-2.0, 0.0, 3.0]))"),
)
def sgn(input: Any) -> Any:
    """The direction: `input / abs(input)`, and 0 at 0. Of real numbers, the sign."""
    if input.dtype.kind != "c":
        return _sign(input)
    size = np.abs(input)
    return np.where(size == 0, 0, input / np.where(size == 0, 1, size)).astype(input.dtype, copy=False)


def _of_floats(rounded: Any, input: Any) -> Any:
    """Integers are whole already, and keep their dtype."""
    return rounded(input) if input.dtype.kind == "f" else input


@op((None,), elementwise=True, takes="if", kinks=_STEPS, samples=("floor(tensor([1, 2]))",))
def floor(input: Any) -> Any:
    """Rounded down."""
    return _of_floats(np.floor, input)


@op((None,), elementwise=True, takes="if", kinks=_STEPS)
def ceil(input: Any) -> Any:
    """Rounded up."""
    return _of_floats(np.ceil, input)


@op((None,), aliases=("fix",), elementwise=True, takes="if", kinks=_STEPS)
def trunc(input: Any) -> Any:
    """Rounded toward 0."""
    return _of_floats(np.trunc, input)


@op(
    (None,),
    elementwise=True,
    takes="if",
    kinks="halves; the gradient is 0",
    samples=(
        "round(tensor([0.5, 1.5, 2.5, -0.5]))",
        "round(randn(3), decimals=2)",
        "round(randn(3) * 100, decimals=-1)",
    ),
)
def round(input: Any, *, decimals: int = 0) -> Any:
    """Rounded to the nearest, halves to the even one; to `decimals` places."""
    if isinstance(decimals, int):
        decimals = min(max(decimals, -400), 400)  # no float has more places, and NumPy would count them one by one
    return np.round(input, decimals)


@op(lambda g, y, x: g, elementwise=True, takes="f", kinks="integers")
def frac(input: Any) -> Any:
    """What `trunc` takes away."""
    return input - np.trunc(input)
