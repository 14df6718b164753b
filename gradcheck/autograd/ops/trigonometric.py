"""Trigonometric and hyperbolic functions and their inverses, angles in degrees, and `sinc`, element by element.

Derivatives: NIST Digital Library of Mathematical Functions, 4.20, 4.24, 4.34 and 4.38.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcheck.autograd import ops
from gradcheck.autograd.op import elementwise, row
from gradcheck.autograd.ops.comparison_where import where
from gradcheck.autograd.ops.exp_log_pow import rsqrt, sqrt

_SMOOTH: dict[str, Any] = {"floating": True, "analytic": True}
_INSIDE = {"domain": ((-0.95, 0.95),), "kinks": "-1, 1", **_SMOOTH}

sin = row("sin", "The sine.", lambda input: np.sin(input), lambda g, y, x: g * ops.cos(x), **_SMOOTH)
cos = row("cos", "The cosine.", lambda input: np.cos(input), lambda g, y, x: g * -sin(x), **_SMOOTH)


@elementwise(lambda g, y, x: g * (1 + y * y), domain=((-1.4, 1.4),), kinks="poles", **_SMOOTH)
def tan(input: Any) -> Any:
    """The tangent."""
    return np.tan(input)


@elementwise(lambda g, y, x: g * rsqrt(1 - x * x), aliases=("arcsin",), **_INSIDE, latex=r"\arcsin")
def asin(input: Any) -> Any:
    """The inverse sine."""
    return np.arcsin(input)


@elementwise(lambda g, y, x: -g * rsqrt(1 - x * x), aliases=("arccos",), **_INSIDE, latex=r"\arccos")
def acos(input: Any) -> Any:
    """The inverse cosine."""
    return np.arccos(input)


@elementwise(lambda g, y, x: g / (x * x + 1), aliases=("arctan",), **_SMOOTH, latex=r"\arctan")
def atan(input: Any) -> Any:
    """The inverse tangent."""
    return np.arctan(input)


@elementwise(
    (lambda g, y, a, b: g * (b / (a * a + b * b)), lambda g, y, a, b: -g * (a / (a * a + b * b))),
    aliases=("arctan2",),
    takes="f",
    floating=True,
    domain=((-3.0, 3.0), (-3.0, 3.0)),
    kinks="0, 0",
)
def atan2(input: Any, other: Any) -> Any:
    """The angle of the point (other, input), from -pi to pi."""
    return np.arctan2(input, other)


@elementwise(lambda g, y, x: g * (np.pi / 180), takes="f", floating=True, domain=((-180.0, 180.0),))
def deg2rad(input: Any) -> Any:
    """Degrees as radians."""
    return input * (np.pi / 180)


@elementwise(lambda g, y, x: g * (180 / np.pi), takes="f", floating=True)
def rad2deg(input: Any) -> Any:
    """Radians as degrees."""
    return input * (180 / np.pi)


sinh = row("sinh", "The hyperbolic sine.", lambda input: np.sinh(input), lambda g, y, x: g * ops.cosh(x), **_SMOOTH)
cosh = row("cosh", "The hyperbolic cosine.", lambda input: np.cosh(input), lambda g, y, x: g * sinh(x), **_SMOOTH)
tanh = row("tanh", "The hyperbolic tangent.", lambda input: np.tanh(input), lambda g, y, x: g * (1 - y * y), **_SMOOTH)


@elementwise(lambda g, y, x: g * rsqrt(x * x + 1), aliases=("arcsinh",), **_SMOOTH)
def asinh(input: Any) -> Any:
    """The inverse hyperbolic sine."""
    return np.arcsinh(input)


@elementwise(
    lambda g, y, x: g / (sqrt(x - 1) * sqrt(x + 1)), aliases=("arccosh",), domain=((1.1, 4.0),), kinks="1", **_SMOOTH
)
def acosh(input: Any) -> Any:
    """The inverse hyperbolic cosine."""
    return np.arccosh(input)


@elementwise(lambda g, y, x: g / (1 - x * x), aliases=("arctanh",), **_INSIDE)
def atanh(input: Any) -> Any:
    """The inverse hyperbolic tangent."""
    return np.arctanh(input)


def _sinc_rule(g: Any, y: Any, x: Any) -> Any:
    """(cos(pi x) - sinc(x)) / x, and 0 at 0."""
    return where(x == 0, 0, g * ((cos(x * math.pi) - y) / where(x == 0, 1, x)))


@elementwise(_sinc_rule, aliases=("special.sinc",), **_SMOOTH)
def sinc(input: Any) -> Any:
    """`sin(pi x) / (pi x)`, and 1 at 0."""
    angle = math.pi * input
    return np.where(input == 0, 1, np.sin(angle) / np.where(input == 0, 1, angle)).astype(input.dtype, copy=False)
