"""Trigonometric and hyperbolic functions and their inverses, element by element."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcheck.autograd.op import composite, op
from gradcheck.autograd.ops import complex_parts
from gradcheck.autograd.ops.extrema import where
from gradcheck.autograd.ops.power import rsqrt, sqrt

_INSIDE = ((-0.95, 0.95),)


def _sin_rule(g: Any, y: Any, x: Any) -> Any:
    return g * cos(x)


@op(_sin_rule, elementwise=True, floating=True, analytic=True)
def sin(input: Any) -> Any:
    """The sine."""
    return np.sin(input)


@op(lambda g, y, x: g * -sin(x), elementwise=True, floating=True, analytic=True)
def cos(input: Any) -> Any:
    """The cosine."""
    return np.cos(input)


@op(
    lambda g, y, x: g * (1 + y * y),
    elementwise=True,
    floating=True,
    domain=((-1.4, 1.4),),
    kinks="poles",
    analytic=True,
)
def tan(input: Any) -> Any:
    """The tangent."""
    return np.tan(input)


@op(
    lambda g, y, x: g * rsqrt(1 - x * x),
    aliases=("arcsin",),
    elementwise=True,
    floating=True,
    domain=_INSIDE,
    kinks="-1, 1",
    analytic=True,
)
def asin(input: Any) -> Any:
    """The inverse sine."""
    return np.arcsin(input)


@op(
    lambda g, y, x: -g * rsqrt(1 - x * x),
    aliases=("arccos",),
    elementwise=True,
    floating=True,
    domain=_INSIDE,
    kinks="-1, 1",
    analytic=True,
)
def acos(input: Any) -> Any:
    """The inverse cosine."""
    return np.arccos(input)


@op(lambda g, y, x: g / (x * x + 1), aliases=("arctan",), elementwise=True, floating=True, analytic=True)
def atan(input: Any) -> Any:
    """The inverse tangent."""
    return np.arctan(input)


@op(
    (lambda g, y, a, b: g * (b / (a * a + b * b)), lambda g, y, a, b: -g * (a / (a * a + b * b))),
    aliases=("arctan2",),
    elementwise=True,
    takes="f",
    floating=True,
    domain=((-3.0, 3.0), (-3.0, 3.0)),
    kinks="0, 0",
)
def atan2(input: Any, other: Any) -> Any:
    """The angle of the point (other, input), from -pi to pi."""
    return np.arctan2(input, other)


def _sinh_rule(g: Any, y: Any, x: Any) -> Any:
    return g * cosh(x)


@op(_sinh_rule, elementwise=True, floating=True, analytic=True)
def sinh(input: Any) -> Any:
    """The hyperbolic sine."""
    return np.sinh(input)


@op(lambda g, y, x: g * sinh(x), elementwise=True, floating=True, analytic=True)
def cosh(input: Any) -> Any:
    """The hyperbolic cosine."""
    return np.cosh(input)


@op(lambda g, y, x: g * (1 - y * y), elementwise=True, floating=True, analytic=True)
def tanh(input: Any) -> Any:
    """The hyperbolic tangent."""
    return np.tanh(input)


@op(lambda g, y, x: g * rsqrt(x * x + 1), aliases=("arcsinh",), elementwise=True, floating=True, analytic=True)
def asinh(input: Any) -> Any:
    """The inverse hyperbolic sine."""
    return np.arcsinh(input)


@op(
    lambda g, y, x: g / (sqrt(x - 1) * sqrt(x + 1)),
    aliases=("arccosh",),
    elementwise=True,
    floating=True,
    domain=((1.1, 4.0),),
    kinks="1",
    analytic=True,
)
def acosh(input: Any) -> Any:
    """The inverse hyperbolic cosine."""
    return np.arccosh(input)


@op(
    lambda g, y, x: g / (1 - x * x),
    aliases=("arctanh",),
    elementwise=True,
    floating=True,
    domain=_INSIDE,
    kinks="-1, 1",
    analytic=True,
)
def atanh(input: Any) -> Any:
    """The inverse hyperbolic tangent."""
    return np.arctanh(input)


def _sinc_rule(g: Any, y: Any, x: Any) -> Any:
    """(cos(pi x) - sinc(x)) / x, and 0 at 0."""
    return where(x == 0, 0, g * ((cos(x * math.pi) - y) / where(x == 0, 1, x)))


@op(_sinc_rule, aliases=("special.sinc",), elementwise=True, floating=True, analytic=True)
def sinc(input: Any) -> Any:
    """`sin(pi x) / (pi x)`, and 1 at 0."""
    angle = math.pi * input
    return np.where(input == 0, 1, np.sin(angle) / np.where(input == 0, 1, angle)).astype(input.dtype, copy=False)


@composite(method=False, samples=("polar(uniform(0.5, 2, [3]), randn(3))",))
def polar(abs: Any, angle: Any) -> Any:
    """The complex numbers of these lengths and angles."""
    return complex_parts.complex(abs * cos(angle), abs * sin(angle))
